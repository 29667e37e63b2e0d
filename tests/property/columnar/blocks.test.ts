import { expect, test } from "bun:test";
import fc from "fast-check";
import { blockReader } from "../../../src/columnar/blocks.ts";
import { BLOCK_ROWS, ringLayout, ringTables } from "../../../src/schema/c-header.ts";
import { addressModel, faultArena } from "../../performance/address-model.ts";

interface Header {
  readonly sequenceLow: number;
  readonly rowsLow: number;
  readonly rowsHigh: number;
}

const word = fc.oneof(fc.nat(300), fc.nat(2 ** 32 - 1), fc.constantFrom(0, 256, 257, 2 ** 31, 2 ** 32 - 1));
const header: fc.Arbitrary<Header> = fc.record({
  sequenceLow: word,
  rowsLow: word,
  rowsHigh: fc.oneof(fc.constant(0), word),
});

test("blocks with any header are taken or counted, never thrown, and every taken row is one of its block", () => {
  for (const table of ringTables()) {
    const layout = ringLayout(table);
    fc.assert(
      fc.property(
        fc.array(header, { maxLength: 6 }),
        fc.array(word, { minLength: 6, maxLength: 6 }),
        (headers, random) => {
          const bytes = new Uint8Array(headers.length * layout.blockBytes);
          for (const [block, { sequenceLow, rowsLow, rowsHigh }] of headers.entries()) {
            const at = block * layout.blockBytes;
            bytes.fill(block + 1, at, at + layout.blockBytes);
            new Uint32Array(bytes.buffer, at, 4).set([sequenceLow, 0, rowsLow, rowsHigh]);
          }
          const right = headers.map(({ sequenceLow }, i) =>
            (random[i] ?? 0) % 2 === 0 ? sequenceLow : sequenceLow + 1,
          );
          const cpus = headers.map((_, i) => i);
          const taken = blockReader(table)({ bytes, blocks: headers.length, cpus, sequence: right });
          const sound = headers.map(
            (h, i) => right[i] === h.sequenceLow && h.rowsHigh === 0 && h.rowsLow <= BLOCK_ROWS,
          );
          expect(taken.corruptBlocks).toBe(sound.filter((ok) => !ok).length);
          const tids = headers.flatMap((h, i) =>
            sound[i] ? new Array<number>(h.rowsLow).fill(((i + 1) * 0x01010101) >>> 0) : [],
          );
          expect(taken.batch.rows).toBe(tids.length);
          const tid = taken.batch.columns.tid;
          expect(tid && "data" in tid ? Array.from(tid.data as Uint32Array) : null).toEqual(tids);
        },
      ),
      { numRuns: 150 },
    );
  }
});

test("an arena shorter than its count of blocks gives the whole blocks and counts the others", () => {
  const { arena, blocks, cpus, sequence } = faultArena(addressModel(2000, 3));
  const blockBytes = arena.length / blocks;
  fc.assert(
    fc.property(fc.nat(arena.length), (length) => {
      const taken = blockReader("fault")({ bytes: arena.subarray(0, length), blocks, cpus, sequence });
      expect(taken.corruptBlocks).toBe(blocks - Math.floor(length / blockBytes));
    }),
  );
});

test("sound blocks give the rows that the kernel wrote, with the CPU of their ring", () => {
  const model = addressModel(5000, 11);
  const { arena, blocks, cpus, sequence } = faultArena(model);
  const { batch, corruptBlocks } = blockReader("fault")({ bytes: arena, blocks, cpus, sequence });
  expect(corruptBlocks).toBe(0);
  expect(batch.rows).toBe(model.rows);
  const rowsOf = (columns: Record<string, ArrayLike<number | bigint>>) =>
    Array.from({ length: model.rows }, (_, row) =>
      ["timestamp_ns", "address", "ip", "pid", "tid", "fault_flags", "cpu"]
        .map((name) => String(columns[name]?.[row]))
        .join(),
    ).sort();
  const read = Object.fromEntries(
    Object.entries(batch.columns).map(([name, column]) => [name, "data" in column ? column.data : column.codes]),
  );
  expect(rowsOf(read)).toEqual(rowsOf(model as unknown as Record<string, ArrayLike<number | bigint>>));
});
