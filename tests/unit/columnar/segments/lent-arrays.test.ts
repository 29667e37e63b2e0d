import { describe, expect, test } from "bun:test";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { arrayBorrower, arrayLender, type LentBatch } from "../../../../src/columnar/segments/lent-arrays.ts";
import { waitUntil } from "../../../fixtures/wait-until.ts";

function shared(values: readonly number[]): Uint32Array {
  const array = new Uint32Array(new SharedArrayBuffer(4 * values.length));
  array.set(values);
  return array;
}

const batchOf = (columns: Batch["columns"]): Batch => ({ table: "fault", rows: 2, columns });
/** What comes out of the other end. */
const sent = (batch: LentBatch): LentBatch => structuredClone(batch);

describe("arrays that are lent to another thread", () => {
  test("come back as they were, with the texts and the marks of values", () => {
    const batch = batchOf({
      address: { data: BigUint64Array.of(1n, 2n) },
      pid: { data: shared([3, 4]), valid: Uint8Array.of(1, 0) },
      comm: { codes: shared([1, 0]), values: ["a", "b"] },
    });
    expect(arrayBorrower()(sent(arrayLender()(batch)))).toEqual(batch);
  });

  test("are sent once where their memory is shared, and show what is written into them later", () => {
    const [lend, borrow] = [arrayLender(), arrayBorrower()];
    const batch = batchOf({ pid: { data: shared([1, 2]) }, comm: { codes: shared([0, 0]), values: ["a"] } });
    borrow(sent(lend(batch)));
    (batch.columns.pid as { data: Uint32Array }).data.set([5, 6]);
    const again = lend(batch);
    expect(again.columns).toEqual({ pid: { data: 1 }, comm: { codes: 2, values: ["a"] } });
    expect(borrow(sent(again))).toEqual(batch);
  });

  test("are sent every time where they mark values, as these are new every time", () => {
    const lend = arrayLender();
    const batch = batchOf({ pid: { data: shared([1, 2]), valid: new Uint8Array(new SharedArrayBuffer(2)) } });
    lend(batch);
    expect(lend(batch).columns).toEqual({ pid: { data: 1, valid: new Uint8Array(2) } });
  });

  test("are sent every time where their memory is not shared", () => {
    const [lend, borrow] = [arrayLender(), arrayBorrower()];
    const data = Uint32Array.of(1, 2);
    borrow(sent(lend(batchOf({ pid: { data } }))));
    data.set([7, 8]);
    expect(borrow(sent(lend(batchOf({ pid: { data } }))))).toEqual(batchOf({ pid: { data: Uint32Array.of(7, 8) } }));
  });

  test("are forgotten over there once nobody has them here", async () => {
    const [lend, borrow] = [arrayLender(), arrayBorrower()];
    const lendMany = (): number[] =>
      Array.from({ length: 50 }, () => {
        const lent = lend(batchOf({ pid: { data: shared([1, 2]) } }));
        borrow(sent(lent));
        return (lent.columns.pid as unknown as { data: { number: number } }).data.number;
      });
    const numbers = lendMany();
    const gone = new Set<number>();
    const someGone = (): boolean => {
      Bun.gc(true);
      const lent = lend(batchOf({}));
      borrow(sent(lent));
      for (const number of lent.gone) gone.add(number);
      return gone.size > 0;
    };
    expect(await waitUntil(someGone)).toBe(true);
    for (const number of numbers) {
      const named = (): Batch => borrow({ table: "fault", rows: 2, columns: { pid: { data: number } }, gone: [] });
      if (gone.has(number)) expect(named).toThrow(`array ${number} was never sent`);
      else expect(named()).toEqual(batchOf({ pid: { data: Uint32Array.of(1, 2) } }));
    }
  });
});
