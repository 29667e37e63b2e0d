/** Figures of single cache tensors by the engine's steps: of their rows the steps tell each write, need and end. */
import type { Group } from "../input/group.ts";
import { blockResamples, emptyGroup } from "../input/group.ts";
import type { AnalysisInput, RegionKv } from "../input/input.ts";
import { spansOf } from "../input/span.ts";
import { ageAtRead } from "../metrics/age-at-read.ts";
import { readBytesPerSecond, writeBytesPerSecond } from "../metrics/byte-rates.ts";
import { locality } from "../metrics/locality.ts";
import type { Figure } from "../metrics/metric.ts";
import { readsPerWrite } from "../metrics/reads-per-write.ts";
import { retention } from "../metrics/retention.ts";
import { workingSet } from "../metrics/working-set.ts";
import { writeOnce } from "../metrics/write-once.ts";
import { kvWriteOnce } from "../steps/kv-write-once.ts";
import { passGapNs } from "../watched/passes.ts";
import { refused, rowsOfFamilies } from "./family-rows.ts";
import { regionIdentity } from "./region-identity.ts";
import type { RegionRows } from "./stream-regions.ts";

const STEP = "step";
/** What steps tell of rows. */
const TOLD = [readBytesPerSecond, writeBytesPerSecond, readsPerWrite, ageAtRead, retention];
const [ONCE] = writeOnce.metrics;
/** What they do not. */
const UNTOLD = [workingSet, locality];
const ALL = [...TOLD, writeOnce, ...UNTOLD];
const NO_ORDER = "a step names the rows that it needs, not when and in which order it touches their bytes";
const TOO_MANY = "too many tokens were in the cache to tell single tensors: the figures of the class are those of each";

function figuresOf(group: Group, { kvRows }: RegionKv): Figure[] {
  if (kvRows === null) return refused(ALL, STEP, 0, () => TOO_MANY);
  const identified = TOLD.flatMap((family) => family.figures(group, [])).filter(({ source }) => source === STEP);
  const once = ONCE === undefined ? [] : kvWriteOnce(group, ONCE.name);
  return [...identified, ...once, ...refused(UNTOLD, STEP, group.kvRows.length, () => NO_ORDER)];
}

/** In the whole of generation; none where the steps do not tell the lives of rows. */
export function kvRegions(input: AnalysisInput): RegionRows[] {
  const [span] = spansOf(input.steps, input.window_ns);
  if (span === undefined) return [];
  const empty = emptyGroup(input, span, passGapNs(input.trap_cost_ns), blockResamples(input.seed));
  return (input.regionKv ?? []).flatMap((set) => {
    const [first = 0] = set.rows;
    const group: Group = {
      ...empty,
      region_type: "kv_cache",
      regions: { all: input.regions, rows: Uint32Array.of(first) },
      kvRows: set.kvRows?.() ?? [],
    };
    // Tensors of a set keep the same rows.
    const rows = rowsOfFamilies(group, ALL, figuresOf(group, set));
    return set.rows.map((row) => ({ ...regionIdentity(input, row), rows }));
  });
}
