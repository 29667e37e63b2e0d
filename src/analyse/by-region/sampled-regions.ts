/** Figures of single regions by the samples that fell on them: PEBS, IBS, a timer, and imports of perf mem. */
import { blockResamples, emptyGroup, type Group } from "../input/group.ts";
import type { AnalysisInput, RegionSamples } from "../input/input.ts";
import { spansOf } from "../input/span.ts";
import { ageAtRead } from "../metrics/age-at-read.ts";
import { readBytesPerSecond, writeBytesPerSecond } from "../metrics/byte-rates.ts";
import { locality } from "../metrics/locality.ts";
import { readsPerWrite } from "../metrics/reads-per-write.ts";
import { retention } from "../metrics/retention.ts";
import { workingSet } from "../metrics/working-set.ts";
import { writeOnce } from "../metrics/write-once.ts";
import { sampledRates } from "../sampled/sampled-rates.ts";
import { sampledWriteOnce } from "../sampled/sampled-write-once.ts";
import { passGapNs } from "../watched/passes.ts";
import { refused, rowsOfFamilies } from "./family-rows.ts";
import { regionIdentity } from "./region-identity.ts";
import type { RegionRows } from "./stream-regions.ts";

const TOLD = [workingSet, sampledRates];
/** What a sample cannot tell, each with the reason that its page has. */
const UNTOLD = [readBytesPerSecond, writeBytesPerSecond, readsPerWrite, ageAtRead, retention, locality];
const ALL = [...TOLD, writeOnce, ...UNTOLD];

function groupOf(input: AnalysisInput, empty: Group, { row, sums }: RegionSamples): Group {
  const facts = input.regions.facts[input.regions.what[row] as number];
  return {
    ...empty,
    region_type: facts?.region_type ?? "unknown",
    mapping_kind: facts?.region_type === "unknown" ? facts.mapping_kind : null,
    regions: { all: input.regions, rows: Uint32Array.of(row) },
    // When the engine empties its cache, the lives of its blocks end.
    kvRows: facts?.region_type === "kv_cache" && input.kvUntold === null ? input.kvRows : [],
    sums,
    sampled: new Map(sums.map(({ source, rows }) => [source, rows])),
  };
}

/** In the whole of generation, or of a run without an engine. */
export function sampledRegions(input: AnalysisInput): RegionRows[] {
  const [span] = spansOf(input.steps, input.window_ns);
  if (span === undefined) return [];
  const empty = emptyGroup(input, span, passGapNs(input.trap_cost_ns), blockResamples(input.seed));
  return (input.regionSamples ?? []).map((one) => {
    const group = groupOf(input, empty, one);
    const identified = TOLD.flatMap((family) => family.figures(group, [])).filter(({ source }) =>
      group.sampled.has(source),
    );
    const untold = [...group.sampled].flatMap(([source, n]) =>
      refused(UNTOLD, source, n, ({ not_by_sampling }) => not_by_sampling ?? "not observed"),
    );
    const rows = rowsOfFamilies(group, ALL, [...identified, ...sampledWriteOnce(group), ...untold]);
    return { ...regionIdentity(input, one.row), rows };
  });
}
