import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beginsAsCapture, lastUsedByte } from "../../../../src/collect/memray/format/capture-file.ts";
import { MrmTraceError } from "../../../../src/errors.ts";
import { type CaptureVersion, memrayWriter, u64, varint } from "../../../fixtures/memray-writer.ts";
import { type ReadAll, readAll } from "../../../fixtures/read-allocations.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-bad-captures-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const VERSIONS: readonly CaptureVersion[] = [11, 12, 13];

function read(bytes: Uint8Array): ReadAll {
  const path = join(folder, "bad.bin");
  writeFileSync(path, bytes);
  return readAll(path);
}

/** What the reader says instead of reading. */
function refusal(bytes: Uint8Array): string {
  try {
    read(bytes);
  } catch (error) {
    if (error instanceof MrmTraceError) return `${error.code}: ${error.message}; ${error.hint}`;
    throw error;
  }
  return "read";
}

/** Three allocations, and what a test adds to them. */
function withRecords(version: CaptureVersion, more: (writer: ReturnType<typeof memrayWriter>) => void, native = false) {
  const writer = memrayWriter({ version, native });
  for (let i = 0; i < 3; i++) writer.allocation("malloc", 4096 + i * 64, 10);
  const at = writer.bytes.length;
  more(writer);
  return { bytes: writer.take(), at };
}

describe("a capture that is refused", () => {
  test("is named with what is wrong and what helps: no capture, another version, a header that is not whole", () => {
    expect(refusal(new Uint8Array(0))).toMatch(/^data_quality: .*bad\.bin is no memray capture.*memray run -o FILE/);
    expect(refusal(Uint8Array.from(Buffer.from("memraz and more than that")))).toContain("is no memray capture");
    for (const version of [10, 14, 2 ** 31 - 1]) {
      const bytes = memrayWriter({ version: 13 }).take();
      new DataView(bytes.buffer).setInt32(7, version, true);
      expect(refusal(bytes)).toContain(`of version ${version}; versions 11 to 13 can be read`);
    }
    const whole = memrayWriter({ version: 13 }).take();
    expect(refusal(whole.subarray(0, 40))).toContain("its header is cut");
    expect(refusal(Uint8Array.from([4, 0x22, 0x4d, 0x18, 0xff, 0xff, 0, 0]))).toMatch(/at byte \d+ of the compressed/);
  });

  test("is told to be cut, and not to be of another kind, where its first block is", () => {
    // The header of a frame with blocks of 64 KiB, and a block of 100 bytes of which 3 are there.
    const descriptor = [0x40, 0x40];
    const sum = (Bun.hash.xxHash32(Uint8Array.from(descriptor)) >>> 8) & 255;
    const cut = Uint8Array.from([4, 0x22, 0x4d, 0x18, ...descriptor, sum, 100, 0, 0, 0, 1, 2, 3]);
    expect(beginsAsCapture(cut)).toBe(true);
    expect(refusal(cut)).toMatch(
      /^data_quality: .*bad\.bin begins as a compressed memray capture does, and nothing .*: cut inside a block at byte 11 /,
    );
  });
});

test("zeros at the end are passed over, and those of a file of holes not for ever", () => {
  let read = 0;
  const file = (size: number, used: number) => ({
    size,
    readAt(into: Uint8Array, offset: number): number {
      read += 1;
      const isUsed = used > offset && used <= offset + into.length;
      if (isUsed) into[used - 1 - offset] = 7;
      return into.length;
    },
  });
  expect(lastUsedByte(file(5_000_000, 1_234_567))).toBe(1_234_567);
  expect(lastUsedByte(file(5_000_000, 1))).toBe(1);
  expect(lastUsedByte(file(5_000_000, 0))).toBe(0);
  expect(lastUsedByte(file(2 ** 43, 100))).toBeNull();
  expect(read).toBeLessThan(70_000);
}, 60_000);

describe("a capture that is damaged behind its header is read up to the damage, whose byte is named:", () => {
  const cases: readonly (readonly [string, (writer: ReturnType<typeof memrayWriter>) => void])[] = [
    ["a type that there is not", (writer) => writer.raw(15)],
    ["more mapped segments than there can be", (writer) => writer.raw(7, 97, 0, ...varint(2n ** 60n), ...u64(0))],
    ["a number of eleven bytes", (writer) => writer.raw(7, 97, 0, ...new Array(11).fill(255), ...u64(0))],
    ["an address above all memory", (writer) => writer.allocation("malloc", 2 ** 60, 10)],
    ["a native frame below one that does not exist", (writer) => writer.nativeFrame(64, 9)],
    ["a native frame below itself", (writer) => writer.nativeFrame(64, 1)],
  ];
  for (const [name, more] of cases) {
    test(name, () => {
      for (const version of VERSIONS) {
        const { bytes, at } = withRecords(version, more, name.startsWith("a native"));
        const { summary } = read(Uint8Array.from([...bytes, ...new Array(8).fill(0x7f)]));
        expect(summary.complete).toBe(false);
        expect(summary.totals.records).toBe(3);
        expect(Number(/at byte (\d+)/.exec(summary.problem ?? "")?.[1])).toBeWithin(at, bytes.length + 1);
      }
    });
  }

  test("a byte that looks like the last record", () => {
    for (const version of VERSIONS) {
      const { bytes } = withRecords(version, (writer) => {
        writer.trailer();
        writer.allocation("malloc", 8192, 10);
      });
      expect(read(bytes).summary).toMatchObject({
        complete: false,
        problem: expect.stringContaining("more behind its last record"),
      });
      const { bytes: padded } = withRecords(version, (writer) => {
        writer.trailer();
        writer.raw(...new Array(5000).fill(0));
      });
      expect(read(padded).summary).toMatchObject({ complete: true, problem: null });
    }
  });

  test("a stack of an aggregated capture below one that does not exist", () => {
    for (const version of VERSIONS) {
      const writer = memrayWriter({ version, aggregated: true });
      const parent = (n: number): number[] => (version === 11 ? [...u64(1), ...u64(n).slice(0, 4)] : [1, n]);
      writer.raw(3, ...parent(0), 3, ...parent(1), 3, ...parent(3));
      writer.trailer();
      const { summary, tables } = read(writer.take());
      expect(summary.problem).toMatch(/cannot be, before byte \d+/);
      const parents = tables.allocation_stack?.map(({ stack_id, parent_id }) => [stack_id, parent_id]);
      expect(parents).toEqual([
        [1, null],
        [2, 1],
      ]);
    }
  });
});
