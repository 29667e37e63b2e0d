import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { blockReader } from "../../../src/columnar/blocks.ts";
import { openRing, type RingReader } from "../../../src/kernel/ring.ts";
import { BLOCK_ROWS, RING_CONTROL, ringLayout, ringTables } from "../../../src/schema/c-header.ts";
import { balances } from "../../../src/schema/ledger.ts";
import { ringProducer } from "../../fixtures/ring-producer.ts";

const PLACE = { stream: "fault", source: "fault", stage: "ring", way: "test" } as const;
const LAYOUT = ringLayout("fault");
/** No power of two: a ring has as many as fit. */
const BLOCKS = 5;

/** What one drain gives: cpu and value of every row; every column of a row must hold the same value. */
function drained(reader: RingReader): (readonly [cpu: number, value: number])[] {
  const batch = reader.drain(blockReader("fault"));
  const column = (name: string): number[] => {
    const data = batch.columns[name];
    return data && "data" in data ? Array.from(data.data as Iterable<number | bigint>, Number) : [];
  };
  const cpus = column("cpu");
  const values = column("timestamp_ns");
  for (const { name } of LAYOUT.columns) expect(column(name)).toEqual(values);
  return values.map((value, i) => [cpus[i] ?? -1, value]);
}

/** Pushes of some rows on a CPU, or a drain. */
const step = fc.oneof(
  fc.record({ cpu: fc.nat({ max: 63 }), rows: fc.nat({ max: 3 * BLOCK_ROWS }) }),
  fc.constant("drain" as const),
);

describe("the reader of a ring", () => {
  test("gives every row that the producer kept, once, in order, with its CPU, whenever it drains", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const producer = ringProducer("fault", BLOCKS);
        using reader = openRing(producer.ring, LAYOUT);
        const kept = Array.from({ length: producer.cpus }, (): number[] => []);
        const got = Array.from({ length: producer.cpus }, (): number[] => []);
        let value = 0;
        const drain = (): void => {
          for (const [cpu, row] of drained(reader)) got[cpu]?.push(row);
        };
        for (const one of steps) {
          if (one === "drain") drain();
          else {
            const cpu = one.cpu % producer.cpus;
            for (let i = 0; i < one.rows; i++) if (producer.push(cpu, ++value)) kept[cpu]?.push(value);
          }
        }
        drain();
        expect(got).toEqual(kept);
        const ledger = reader.ledger(PLACE);
        expect(ledger.every(balances)).toBe(true);
        expect(ledger.reduce((sum, row) => sum + row.seen, 0)).toBe(value);
        expect(ledger.reduce((sum, row) => sum + row.kept, 0)).toBe(kept.flat().length);
      }),
      { numRuns: 60 },
    );
  });

  test("refuses a row only where the ring is full, and says how many", () => {
    const producer = ringProducer("fault", BLOCKS);
    using reader = openRing(producer.ring, LAYOUT);
    const room = BLOCKS * BLOCK_ROWS;
    for (let i = 0; i < room + 77; i++) expect(producer.push(0, i)).toBe(i < room);
    expect(drained(reader)).toHaveLength(room);
    expect(producer.word(0, "tail")).toBe(BigInt(BLOCKS));
    expect(producer.push(0, 1)).toBe(true);
    expect(drained(reader)).toEqual([[0, 1]]);
    expect(reader.ledger(PLACE)).toMatchObject([
      { ...PLACE, seen: room + 78, kept: room + 1, dropped: 77, dropped_by: { ring_full: 77 } },
    ]);
  });

  test("gives many blocks at once", () => {
    const producer = ringProducer("fault", 256);
    using reader = openRing(producer.ring, LAYOUT);
    for (let i = 0; i < 200 * BLOCK_ROWS; i++) producer.push(producer.cpus - 1, i);
    const rows = drained(reader);
    expect(rows).toHaveLength(200 * BLOCK_ROWS);
    expect(rows.every(([cpu, value], i) => cpu === producer.cpus - 1 && value === i)).toBe(true);
  });

  test("gives a block back to the kernel when its rows were read, never before", () => {
    const producer = ringProducer("fault", BLOCKS);
    using reader = openRing(producer.ring, LAYOUT);
    for (let i = 0; i < 2 * BLOCK_ROWS + 5; i++) producer.push(0, i);
    const while_read = reader.drain(({ pieces }) => {
      expect(pieces).toBe(3);
      return producer.word(0, "tail");
    });
    expect(while_read).toBe(0n);
    expect(producer.word(0, "tail")).toBe(2n);
  });

  test("leaves out a block whose header was damaged, whatever it says, and counts its rows", () => {
    const word = fc.oneof(fc.constantFrom(0, BLOCK_ROWS, BLOCK_ROWS + 1), fc.nat(300), fc.nat(2 ** 32 - 1));
    const header = fc.tuple(word, word, word, word);
    for (const table of ringTables()) {
      const layout = ringLayout(table);
      fc.assert(
        fc.property(fc.nat({ max: BLOCKS - 1 }), header, (block, damage) => {
          const producer = ringProducer(table, BLOCKS);
          using reader = openRing(producer.ring, layout);
          for (let i = 0; i < BLOCKS * BLOCK_ROWS; i++) producer.push(0, i);
          new Uint32Array(producer.bytes.buffer, RING_CONTROL.bytes + block * layout.blockBytes, 4).set(damage);
          const isSound = damage[0] === block && damage[2] === BLOCK_ROWS && damage[3] === 0;
          const blocks = reader.drain(({ pieces, begin_bytes }) =>
            Array.from(begin_bytes).slice(0, pieces).map(producer.slotAt),
          );
          expect(blocks).toEqual([0, 1, 2, 3, 4].filter((one) => isSound || one !== block));
          const [row] = reader.ledger(PLACE);
          expect(row && balances(row)).toBe(true);
          expect(row?.dropped_by).toEqual({ ring_full: 0, ...(isSound ? {} : { corrupt_block: BLOCK_ROWS }) });
        }),
        { numRuns: 20, examples: [[2, [2, 0, BLOCK_ROWS, 0]]] },
      );
    }
  });

  test("does not follow a head that no producer can have written, and its account stays open", () => {
    fc.assert(
      fc.property(fc.integer({ min: BLOCKS + 1, max: 2 ** 32 - 1 }), fc.nat(2 * BLOCK_ROWS), (head, rows) => {
        const producer = ringProducer("fault", BLOCKS);
        using reader = openRing(producer.ring, LAYOUT);
        for (let i = 0; i < rows; i++) producer.push(0, i);
        new Uint32Array(producer.bytes.buffer)[RING_CONTROL.head / 4] = head;
        expect(drained(reader)).toEqual([]);
        expect(producer.word(0, "tail")).toBe(0n);
        expect(reader.ledger(PLACE).every(balances)).toBe(rows === 0);
      }),
      { numRuns: 60, examples: [[2 ** 32 - 1, 5]] },
    );
  });
});

describe("opening a ring", () => {
  test("is refused where object and layout disagree", () => {
    const { ring } = ringProducer("fault", BLOCKS);
    for (const valueBytes of [64, RING_CONTROL.bytes, ring.valueBytes + 8]) {
      expect(() => openRing({ ...ring, valueBytes }, LAYOUT)).toThrow(new RegExp(`elements of ${valueBytes} bytes`));
    }
    expect(() => openRing({ ...ring, maxEntries: ring.maxEntries + 1 }, LAYOUT)).toThrow(/expected/);
  });

  test("leaves no mapping behind once it was closed", () => {
    const producer = ringProducer("fault", BLOCKS);
    const reader = openRing(producer.ring, LAYOUT);
    expect(producer.mapped).toBe(1);
    reader[Symbol.dispose]();
    expect(producer.mapped).toBe(0);
  });
});
