import { expect, test } from "bun:test";
import fc from "fast-check";
import { numberBounds } from "../../../../src/columnar/write/statistics.ts";
import { columnsOf } from "../../../../src/schema/columns.ts";

const time = columnsOf("fault").find(({ name }) => name === "timestamp_ns");
const pid = columnsOf("fault").find(({ name }) => name === "pid");

test("bounds of numbers in any order are the least and the greatest of them", () => {
  if (time === undefined || pid === undefined) throw new Error("the table of faults has lost a column");
  const edges = fc.constantFrom(0n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n);
  const wide = fc.oneof(
    edges,
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: 2n ** 40n, max: 2n ** 40n + 9n }),
  );
  const lengths = { minLength: 1, maxLength: 40 };
  const endsOf = <T extends number | bigint>(numbers: readonly T[]) => {
    const sorted = numbers.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    return [sorted[0], sorted.at(-1)];
  };
  fc.assert(
    fc.property(fc.array(wide, lengths), (numbers) => {
      const bounds = numberBounds(time, BigUint64Array.from(numbers));
      const read = (bytes: Uint8Array | undefined) => bytes && new DataView(bytes.slice().buffer).getBigUint64(0, true);
      expect([read(bounds?.least), read(bounds?.greatest)]).toEqual(endsOf(numbers));
    }),
    { numRuns: 1000 },
  );
  fc.assert(
    fc.property(fc.array(fc.nat(2 ** 32 - 1), lengths), (numbers) => {
      const bounds = numberBounds(pid, Uint32Array.from(numbers));
      const read = (bytes: Uint8Array | undefined) => bytes && new DataView(bytes.slice().buffer).getUint32(0, true);
      expect([read(bounds?.least), read(bounds?.greatest)]).toEqual(endsOf(numbers));
    }),
  );
});
