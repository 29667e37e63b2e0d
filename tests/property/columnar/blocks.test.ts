import { expect, test } from "bun:test";
import fc from "fast-check";
import { type BlockRows, blockReader } from "../../../src/columnar/blocks.ts";
import { BLOCK_ROWS, ringLayout, ringTables } from "../../../src/schema/c-header.ts";
import { addressModel, faultBlocks } from "../../performance/address-model.ts";

const BLOCKS = 4;
const piece = fc.record({
  block: fc.nat(BLOCKS - 1),
  cpu: fc.nat(600),
  rows: fc.oneof(fc.constant([0, BLOCK_ROWS]), fc.tuple(fc.nat(BLOCK_ROWS), fc.nat(BLOCK_ROWS))),
});

test("pieces of blocks give their rows, in their order, however often a block comes and wherever it lies", () => {
  for (const table of ringTables()) {
    const layout = ringLayout(table);
    const memory = (add: number): Uint8Array => {
      const bytes = new Uint8Array(BLOCKS * layout.blockBytes);
      const words = new Uint32Array(bytes.buffer);
      for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + add, 0x9e3779b1);
      return bytes;
    };
    const memories = [memory(0), memory(7)];
    const read = blockReader(table);
    fc.assert(
      fc.property(fc.nat(1), fc.array(piece, { maxLength: 8 }), (which, pieces) => {
        const bytes = memories[which] ?? memory(0);
        const ranges = pieces.map(({ rows: [a = 0, b = 0] }) => [Math.min(a, b), Math.max(a, b)] as const);
        const of: BlockRows = {
          bytes,
          pieces: pieces.length,
          begin_bytes: pieces.map(({ block }) => block * layout.blockBytes),
          cpu: pieces.map(({ cpu }) => cpu),
          from: ranges.map(([from]) => from),
          to: ranges.map(([, to]) => to),
        };
        const batch = read(of);
        const view = new DataView(bytes.buffer);
        const rows = pieces.flatMap(({ block, cpu }, i) => {
          const [from, to] = ranges[i] ?? [0, 0];
          return Array.from({ length: to - from }, (_, row) => ({
            at: block * layout.blockBytes,
            row: from + row,
            cpu,
          }));
        });
        expect(batch.rows).toBe(rows.length);
        const values = (name: string): string[] => {
          const column = batch.columns[name];
          return column && "data" in column ? Array.from(column.data as Iterable<number | bigint>, String) : [];
        };
        for (const { name, width, offset } of layout.columns) {
          const expected = rows.map(({ at, row }) => {
            const place = at + offset + row * width;
            if (width === 8) return String(view.getBigUint64(place, true));
            return String(
              width === 4 ? view.getUint32(place, true) : width === 2 ? view.getUint16(place, true) : bytes[place],
            );
          });
          expect(values(name)).toEqual(expected);
        }
        if (batch.columns.cpu !== undefined && !layout.columns.some(({ name }) => name === "cpu")) {
          expect(values("cpu")).toEqual(rows.map(({ cpu }) => String(cpu)));
        }
      }),
      { numRuns: 60 },
    );
  }
});

test("blocks give the rows that the kernel wrote, with the CPU of their ring", () => {
  const model = addressModel(5000, 11);
  const batch = blockReader("fault")(faultBlocks(model));
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
