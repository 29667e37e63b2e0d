import { expect, test } from "bun:test";
import fc from "fast-check";
import { GRAINS, type StepSample } from "../../../../src/analyse/input/input.ts";
import { blockPlan } from "../../../../src/analyse/sampled/block-sums.ts";
import { reduceSamples } from "../../../../src/analyse/sampled/reduce-samples.ts";
import { regionsOf } from "../../../fixtures/regions.ts";
import { groupsOf, type Sample } from "../../../fixtures/sampled-rows.ts";

const MS = 1e6;
const BLOCK_NS = 100 * MS;
const ORIGIN = 12_345_678_901n;
const SPAN = { begin_ns: 50 * MS, end_ns: 950 * MS };
/** Two prompts, of which the time up to the first token is, and three tokens, each with the time up to the next one. */
const STEPS: readonly StepSample[] = [
  { step: "prefill", begin_ns: 50 * MS, end_ns: 250 * MS, n_tokens: 9 },
  { step: "prefill", begin_ns: 460 * MS, end_ns: 540 * MS, n_tokens: 9 },
  ...[600, 700, 800].map(
    (ms): StepSample => ({ step: "decode", begin_ns: ms * MS, end_ns: (ms + 90) * MS, n_tokens: 1 }),
  ),
];
const PREFILL_BLOCKS = [0, 1, 2, 3, 4, 5, 6];
const [FIRST_TOKEN_NS, LAST_END_NS] = [600 * MS, 890 * MS];
const GIVEN = [
  { region_id: 1, region_type: "weight", mapping_kind: "anon" },
  { region_id: 2, region_type: "unknown", mapping_kind: "heap" },
  { region_id: 3, region_type: "unknown", mapping_kind: "stack" },
  { region_id: 4, region_type: "weight", mapping_kind: "file" },
] as const;
const REGIONS = regionsOf(GIVEN.map((region) => ({ ...region, size_bytes: 2 ** 51 })));
/** Classes by the regions that are theirs; what no region holds is a class of its own. */
const CLASSES = [[1, 4], [2], [3], [0]];

const sample: fc.Arbitrary<Sample> = fc.record({
  region_id: fc.constantFrom(0, 1, 2, 3, 4),
  pid: fc.constantFrom(7, 8),
  // Near the edges of blocks of every grain, and so high that even the number of a page has two words.
  address: fc
    .tuple(fc.constantFrom(0, 2 ** 50), fc.constantFrom(0, 0, ...GRAINS), fc.nat(2), fc.constantFrom(0, 63, 130))
    .map(([base, grain, times, offset]) => base + grain * times + offset),
  time_ns: fc.nat(1000).map((ms) => Number(ORIGIN) + ms * MS),
  source: fc.constantFrom("pebs", "clock"),
  op: fc.constantFrom("load", "store", "load_store", "unknown"),
  period: fc.constantFrom(0, 1, 250_007),
});

/** Blocks of a grain seen at all, once and twice. */
function counted(samples: readonly Sample[], grain: number) {
  const seen = new Map<string, number>();
  for (const { pid, address } of samples) {
    const block = `${pid}/${Math.floor(address / grain)}`;
    seen.set(block, (seen.get(block) ?? 0) + 1);
  }
  const counts = [...seen.values()];
  const times = (n: number): number => counts.filter((count) => count === n).length;
  return { grain_bytes: grain, distinct: counts.length, once: times(1), twice: times(2) };
}

const at = ({ time_ns }: Sample): number => time_ns - Number(ORIGIN);

/** Sums of the periods by block, of the samples that are of one kind. */
function summed(samples: readonly Sample[], blocks: number, blockOf: (one: Sample) => number, op: "load" | "store") {
  const sums = new Float64Array(blocks);
  for (const one of samples) {
    const block = blockOf(one);
    if (block >= 0 && block < blocks && (one.op === op || one.op === "load_store")) {
      sums[block] = (sums[block] ?? 0) + one.period;
    }
  }
  return sums;
}

test("samples are summed, and blocks of every grain counted, as one would by hand", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sample, { minLength: 1, maxLength: 400, size: "max" }),
      // Room for 170 pages, more than any 2 MiB of a process has here, and less than all of them together.
      fc.constantFrom(30_000, 1 << 29),
      async (unordered, memoryBytes) => {
        const samples = unordered.toSorted((a, b) => a.time_ns - b.time_ns);
        const sums = await reduceSamples(
          {
            ...SPAN,
            regions: REGIONS,
            originNs: ORIGIN,
            plan: blockPlan(SPAN, STEPS),
            clears: new Float64Array(0),
            gapNs: 1,
            memoryBytes,
          },
          () => groupsOf(samples, 7),
        );
        const covered = samples.filter((one) => at(one) >= SPAN.begin_ns && at(one) <= SPAN.end_ns);
        for (const regions of CLASSES) {
          for (const source of ["pebs", "clock"]) {
            const mine = covered.filter((one) => regions.includes(one.region_id) && one.source === source);
            const region = GIVEN.find(({ region_id }) => region_id === regions[0]);
            const [type, kind] = [region?.region_type ?? "unknown", region?.mapping_kind ?? null];
            const found = sums.find(
              (one) =>
                one.source === source &&
                one.class.region_type === type &&
                (type !== "unknown" || one.class.mapping_kind === kind),
            );
            expect(found === undefined).toBe(mine.length === 0);
            const plans = [
              { of: mine, blocks: 10, blockOf: (one: Sample) => Math.floor(at(one) / BLOCK_NS) },
              {
                of: mine.filter((one) => at(one) < FIRST_TOKEN_NS),
                blocks: PREFILL_BLOCKS.length,
                blockOf: (one: Sample) => PREFILL_BLOCKS.indexOf(Math.floor(at(one) / BLOCK_NS)),
              },
              {
                of: mine.filter((one) => at(one) >= FIRST_TOKEN_NS && at(one) < LAST_END_NS),
                blocks: 3,
                blockOf: (one: Sample) => Math.floor((at(one) - FIRST_TOKEN_NS) / BLOCK_NS),
              },
            ];
            if (found === undefined) continue;
            for (const [step, { of, blocks, blockOf }] of plans.entries()) {
              expect(found.rows[step]).toBe(of.length);
              expect(found.loads[step]).toEqual(summed(of, blocks, blockOf, "load"));
              expect(found.stores[step]).toEqual(summed(of, blocks, blockOf, "store"));
              expect(found.seen[step]).toEqual(GRAINS.map((grain) => counted(of, grain)));
            }
          }
        }
      },
    ),
    { numRuns: 200 },
  );
});
