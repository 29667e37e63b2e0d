import { describe, expect, test } from "bun:test";
import { bytesInMemory, byteView } from "../../../src/elf/byte-view.ts";
import { functionsByGo } from "../../../src/elf/cgo-functions.ts";
import type { FunctionStarts } from "../../../src/elf/function-starts.ts";
import { goFunctions } from "../../../src/elf/go-functions.ts";

/** Places in the file; in memory all lie so much higher. */
const [TABLE, MODULE, TEXT, DATA, RELOCATIONS, END] = [0x100, 0x900, 0x1000, 0x2000, 0x2800, 0x3000];
const BASE = 0x40_0000;
const FUNCTION_BYTES = 0x40;
const [OWN, CALLER, OTHER, STACK] = [0, 1, 2, 3].map((i) => TEXT + i * FUNCTION_BYTES) as [
  number,
  number,
  number,
  number,
];
const [GATE, MEANT] = [TEXT + 0x400, TEXT + 0x480];
const NAMES = [
  "example.org/a/model.Forward",
  "example.org/a/llama._Cfunc_llama_decode",
  "main.main",
  "_cgo_topofstack",
];

interface Made {
  /** Where the beginning of the text stands. */
  readonly textIn?: "header" | "module";
  /** Whether addresses stand in a table of what the loader adds, as in a program that may lie anywhere. */
  readonly isRelocated?: boolean;
  /** Calls of the function of C behind the first, by their targets. */
  readonly calls?: readonly number[];
}

/** A program of Go with four functions, of which one calls C. */
function program({ textIn = "header", isRelocated = false, calls = [STACK, MEANT, STACK] }: Made = {}) {
  const bytes = Buffer.alloc(END);
  const words: [number, number][] = [];
  bytes.writeUInt32LE(0xfffffff1, TABLE);
  bytes[TABLE + 7] = 8;
  const u64 = (place: number, value: number) => bytes.writeBigUInt64LE(BigInt(value), place);
  const word = (place: number, value: number): void => {
    if (isRelocated) words.push([place, value]);
    else u64(place, value);
  };
  const text = Buffer.from(`\0${NAMES.join("\0")}\0`, "latin1");
  u64(TABLE + 8, NAMES.length);
  u64(TABLE + 32, 0x48);
  u64(TABLE + 40, 0x48 + text.length);
  u64(TABLE + 64, 0x200);
  text.copy(bytes, TABLE + 0x48);
  if (textIn === "header") word(TABLE + 24, BASE + TEXT);
  else word(MODULE + 176, BASE + TEXT);
  for (const [i, name] of NAMES.entries()) {
    const info = 0x100 + 16 * i;
    bytes.writeUInt32LE(i * FUNCTION_BYTES, TABLE + 0x200 + 8 * i);
    bytes.writeUInt32LE(info, TABLE + 0x204 + 8 * i);
    bytes.writeUInt32LE(text.indexOf(`\0${name}\0`) + 1, TABLE + 0x200 + info + 4);
  }
  bytes.writeUInt32LE(NAMES.length * FUNCTION_BYTES, TABLE + 0x200 + 8 * NAMES.length);
  // mov rax, [rip + DATA]: the address of the gate.
  bytes.set([0x48, 0x8b, 0x05], CALLER + 9);
  bytes.writeInt32LE(DATA - (CALLER + 9 + 7), CALLER + 12);
  word(DATA, BASE + GATE);
  for (const [i, target] of calls.entries()) {
    const place = GATE + 8 + 12 * i;
    bytes[place] = 0xe8;
    bytes.writeInt32LE(target - (place + 5), place + 1);
  }
  for (const [i, [place, value]] of words.entries()) {
    u64(RELOCATIONS + 24 * i, BASE + place);
    u64(RELOCATIONS + 24 * i + 8, 8);
    u64(RELOCATIONS + 24 * i + 16, value);
  }
  const section = (name: string, offset: number, sizeBytes: number) => ({
    ...{ name, type: 1, flags: 0, vaddr: BASE + offset, offset, sizeBytes, link: 0 },
  });
  const prefix = isRelocated ? ".data.rel.ro" : "";
  const sections = [
    section(`${prefix}.gopclntab`, TABLE, MODULE - TABLE),
    ...(textIn === "module" ? [section(".go.module", MODULE, 0x200)] : []),
    section(".text", TEXT, DATA - TEXT),
    section(".rela.dyn", RELOCATIONS, 24 * words.length),
  ];
  const ranges = [GATE, MEANT, MEANT + 0x40].map((start) => ({ start: BASE + start, end: BASE + start + 0x40 }));
  const starts: FunctionStarts = {
    count: ranges.length,
    start: (index) => ranges[index]?.start ?? null,
    at: (vaddr) => ranges.find(({ start, end }) => vaddr >= start && vaddr < end) ?? null,
  };
  const segments = [{ type: 1, flags: 5, offset: 0, vaddr: BASE, fileBytes: END, memoryBytes: END }];
  return { view: byteView(bytesInMemory(bytes)), machine: 62, segments, sections, starts: () => starts, bytes };
}

const WANTED = [NAMES[0] ?? "", "llama_decode", "llama_free"];

describe("the functions of a stripped program of Go", () => {
  test.each([{}, { textIn: "module" }, { isRelocated: true }, { textIn: "module", isRelocated: true }] as const)(
    "are its own by name, and those of C by how they are called: %j",
    (made) => {
      const found = functionsByGo(program(made), WANTED);
      expect([...found.values()]).toEqual([
        { name: WANTED[0] ?? "", type: "function", vaddr: BASE + OWN, fileOffset: OWN, sizeBytes: 0, isByGo: true },
        { name: "llama_decode", type: "function", vaddr: BASE + MEANT, fileOffset: MEANT, sizeBytes: 0, isByGo: true },
      ]);
    },
  );

  test("end where the next begins, and are found by the end of their names", () => {
    const { view, segments, sections } = program();
    expect(goFunctions(view, segments, sections, [".main", "n"])).toEqual([
      { name: "main.main", vaddr: BASE + OTHER, end: BASE + STACK },
    ]);
  });

  test("of C are not found where the way to them is not the known one", () => {
    const ways: (readonly number[])[] = [[], [STACK], [MEANT, MEANT + 0x40], [MEANT + 8], [DATA]];
    for (const calls of ways) expect([...functionsByGo(program({ calls }), WANTED).keys()]).toEqual([WANTED[0] ?? ""]);
    expect(functionsByGo({ ...program(), machine: 183 }, WANTED).size).toBe(0);
    expect([...functionsByGo({ ...program(), starts: () => null }, WANTED).keys()]).toEqual([WANTED[0] ?? ""]);
  });

  test("are none in other programs, and in what is cut or written over anywhere", () => {
    const whole = program();
    expect(functionsByGo({ ...whole, sections: whole.sections.slice(1) }, WANTED).size).toBe(0);
    for (let length = 0; length < END; length += 61) {
      const view = byteView(bytesInMemory(whole.bytes.subarray(0, length)));
      expect(functionsByGo({ ...whole, view }, WANTED).size).toBeLessThanOrEqual(2);
    }
    for (let place = TABLE; place < TABLE + 0x400; place += 3) {
      const bytes = Buffer.from(whole.bytes);
      bytes.fill(0xff, place, place + 4);
      expect(functionsByGo({ ...whole, view: byteView(bytesInMemory(bytes)) }, WANTED).size).toBeLessThanOrEqual(2);
    }
  });
});
