import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { RECORDS, type RecordName, recordLayout, recordStructs } from "../../../src/schema/records.ts";
import { numberDefines } from "../../../src/schema/shared-numbers.ts";

const BPF = new URL("../../../bpf/", import.meta.url);
const names = Object.keys(RECORDS) as RecordName[];
const WIDTH = { u64: 8, i64: 8, u32: 4, i32: 4, u16: 2, u8: 1 } as const;

type Field = readonly [name: string, type: keyof typeof WIDTH, count?: number];

describe("a struct that the kernel programs share with the reader", () => {
  for (const name of names) {
    test(`${name} has its fields one behind the other, each at a multiple of its width`, () => {
      const { offsets, bytes } = recordLayout(name);
      let end = 0;
      for (const [field, type, count = 1] of RECORDS[name] as readonly Field[]) {
        const offset = (offsets as Record<string, number>)[field];
        expect([field, offset, end % WIDTH[type]]).toEqual([field, end, 0]);
        end += WIDTH[type] * count;
      }
      expect([bytes, bytes % 8]).toEqual([end, 0]);
    });
  }

  test("has its size and every offset asserted in C", () => {
    const text = recordStructs().join("\n");
    for (const name of names) {
      const { offsets, bytes } = recordLayout(name);
      expect(text).toContain(`_Static_assert(sizeof(struct ${name}) == ${bytes},`);
      for (const [field, offset] of Object.entries(offsets)) {
        expect(text).toContain(`_Static_assert(__builtin_offsetof(struct ${name}, ${field}) == ${offset},`);
      }
    }
  });

  test("stands nowhere in C but in the generated header, as do the numbers that go with it", () => {
    const numbers = numberDefines().flatMap((line) => /^#define (\w+) /.exec(line)?.[1] ?? []);
    expect(numbers).toEqual(expect.arrayContaining(["FAULT_WRITE", "ENGINE_ROOM_SMALL", "WATCH_SLOTS"]));
    const files = readdirSync(BPF).filter((file) => /\.[ch]$/.test(file) && !/^(columns\.gen|vmlinux)\.h$/.test(file));
    expect(files).toContain("engine.bpf.c");
    for (const file of files) {
      const text = readFileSync(new URL(file, BPF), "utf8");
      for (const name of names) expect([file, text.includes(`struct ${name} {`)]).toEqual([file, false]);
      for (const number of numbers) expect([file, text.includes(`#define ${number} `)]).toEqual([file, false]);
    }
  });
});
