import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCapture } from "../../../../src/label/capture/capture.ts";
import { loadResidency } from "../../../../src/label/regions/load-residency.ts";
import { bytesAt, fullestLook, totalsOf } from "../../../../src/label/regions/residency.ts";
import { type GivenRegion, regionsOf } from "../../../fixtures/regions.ts";
import type { Given } from "../../../fixtures/row-with.ts";
import { ORIGIN, writeStream } from "../hand-made-run.ts";

const MS = 1e6;
const KIB = 1024;

/** A range of a look, at a ms of the run; addresses and sizes in KiB. */
function range(look: number, ms: number, kind: "looked" | "resident", addr: number, size: number): Given<"residency"> {
  const timestamp_ns = ORIGIN + BigInt(ms * MS);
  const [first, bytes] = [BigInt(addr * KIB), BigInt(size * KIB)];
  return { timestamp_ns, end_ns: timestamp_ns + BigInt(MS), look, pid: 1, kind, addr: first, size_bytes: bytes };
}

/** The regions of a process, in order of address and birth, and what the looks tell of them. */
async function told(given: readonly GivenRegion[], rows: readonly Given<"residency">[]) {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-residency-"));
  writeStream(runDir, "residency", rows);
  const regions = regionsOf(given);
  const residency = await loadResidency(await openCapture(runDir), regions, ORIGIN);
  const looks = residency.look_ns.map((_, look) => look);
  return {
    residency,
    found: Array.from({ length: regions.count }, (_, row) => looks.map((look) => bytesAt(residency, row, look))),
  };
}

const region = (addr: number, size: number, birth_ms: number, death_ms: number): GivenRegion => ({
  addr: BigInt(addr * KIB),
  size_bytes: size * KIB,
  birth_ns: birth_ms * MS,
  death_ns: death_ms * MS,
  death_censored: false,
});

test("of each region a look finds the bytes that it shares with pages in memory, also where it ends amid a page", async () => {
  const { residency, found } = await told(
    [region(100, 6, 0, 1000), region(106, 94, 0, 1000), region(300, 10, 0, 1000)],
    [range(1, 10, "looked", 100, 300), range(1, 10, "resident", 104, 4), range(1, 10, "resident", 190, 60)],
  );
  expect(found).toEqual([[2 * KIB], [(2 + 10) * KIB], [0]]);
  expect(residency.look_ns).toEqual([10 * MS]);
  expect(totalsOf(residency, [0, 1, 2])).toEqual({ bytes: Float64Array.of(14 * KIB), regions: Float64Array.of(3) });
});

test("a region of which a part was not looked at is not told, and one that several pieces cover is", async () => {
  const pieces = [range(1, 10, "looked", 100, 50), range(1, 12, "looked", 150, 50), range(1, 12, "resident", 140, 20)];
  const { found } = await told([region(100, 100, 0, 1000), region(200, 1, 0, 1000)], pieces);
  expect(found).toEqual([[20 * KIB], [null]]);
});

test("what lay at an address before or after a look has nothing of it, nor has what came or went meanwhile", async () => {
  const { found } = await told(
    [region(100, 8, 0, 9), region(100, 8, 9.5, 50), region(108, 8, 0, 10.5), region(116, 8, 10.5, 50)],
    [range(1, 10, "looked", 100, 24), range(1, 10, "resident", 100, 24)],
  );
  expect(found).toEqual([[null], [8 * KIB], [null], [null]]);
});

test("looks are kept apart, the one that found most of all is known, and what did not change is held once", async () => {
  const look = (number: number, ms: number, ...sizes: number[]) => [
    range(number, ms, "looked", 0, 200),
    ...sizes.map((size, i) => range(number, ms, "resident", 100 * i, size)),
  ];
  const { residency, found } = await told(
    [region(0, 100, 0, 1000), region(100, 100, 0, 35)],
    [...look(1, 10, 40, 10), ...look(2, 20, 40, 30), ...look(3, 30, 40, 20), ...look(4, 40, 50)],
  );
  expect(found).toEqual([
    [40 * KIB, 40 * KIB, 40 * KIB, 50 * KIB],
    [10 * KIB, 30 * KIB, 20 * KIB, null],
  ]);
  expect(residency.bytes).toHaveLength(5);
  expect(fullestLook(residency, 2)).toBe(1);
  expect(Array.from(totalsOf(residency, [1]).regions)).toEqual([1, 1, 1, 0]);
});

test("rows of one look that come in no order and overlap tell no more than a region has", async () => {
  const { found } = await told(
    [region(100, 100, 0, 1000)],
    [range(1, 10, "resident", 120, 80), range(1, 10, "resident", 100, 90), range(1, 10, "looked", 50, 200)],
  );
  expect(found).toEqual([[100 * KIB]]);
});

test("of a capture without looks nothing is told", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-residency-"));
  writeStream(runDir, "process", [{ timestamp_ns: ORIGIN }]);
  const residency = await loadResidency(await openCapture(runDir), regionsOf([region(0, 1, 0, 1)]), ORIGIN);
  expect([residency.look_ns, fullestLook(residency, 1), bytesAt(residency, 0, 0)]).toEqual([[], -1, null]);
});
