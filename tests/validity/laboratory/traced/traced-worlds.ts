/** Worlds of real programs, of which the exact trace is sampled as the product's sources sample. */
import { join } from "node:path";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import type { AccessKind } from "../../../../src/analyse/sampled/shadow.ts";
import { passGapNs } from "../../../../src/analyse/watched/passes.ts";
import type { Truth } from "../../../../src/simulate/true-quantiles.ts";
import type { SourceWorld } from "../sources/source-world.ts";
import { type AccessTrace, loadTrace } from "./access-trace.ts";
import { exactFigures } from "./exact-figures.ts";
import { clock, ibs, NO_LAG, pebs, type TracedSampler } from "./trace-samplers.ts";
import { tracedRun } from "./traced-run.ts";

export interface TracedProgram {
  readonly name: string;
  /** Where its trace lies, in the folder of all traces. */
  readonly folder: string;
  /** A cycle of a slow machine: a turn takes tens of milliseconds, as a token of a large model does. */
  readonly cycle_ns: number;
  /** Whether the product is told of its turns, as of the steps of an engine. */
  readonly has_steps: boolean;
}

/** Samples of a run, about: enough for most figures, and so few that many are refused. */
const SAMPLES = 4000;
const FEW_SAMPLES = 400;
/** What a PEBS assist misses before it takes its sample, and by how much an imprecise event skids. */
const SHADOW = { cycles: 8, operations: 0 };
const SKID = { cycles: 0, operations: 6 };

interface Sampling {
  readonly what: string;
  readonly sampler: TracedSampler;
  readonly unshadowed: readonly AccessKind[];
}

const SAMPLINGS: readonly Sampling[] = [
  { what: "", sampler: pebs(SAMPLES, { load: NO_LAG, store: NO_LAG }), unshadowed: ["loads", "stores"] },
  {
    what: ", a shadow of 8 cycles behind stores",
    sampler: pebs(SAMPLES, { load: NO_LAG, store: SHADOW }),
    unshadowed: ["loads"],
  },
  {
    what: ", a shadow of 8 cycles",
    sampler: pebs(SAMPLES, { load: SHADOW, store: SHADOW }),
    unshadowed: [],
  },
  { what: ", a skid of up to 6 operations", sampler: pebs(SAMPLES, { load: SKID, store: SKID }), unshadowed: [] },
  {
    what: ", few samples",
    sampler: pebs(FEW_SAMPLES, { load: NO_LAG, store: NO_LAG }),
    unshadowed: ["loads", "stores"],
  },
  { what: "", sampler: ibs(SAMPLES), unshadowed: [] },
  { what: ", few samples", sampler: ibs(FEW_SAMPLES), unshadowed: [] },
  { what: "", sampler: clock(SAMPLES), unshadowed: [] },
];

interface Loaded {
  readonly path: string;
  readonly trace: AccessTrace;
  readonly truth: ReadonlyMap<string, Truth>;
}

/** The trace that was asked for last: several do not fit into memory. */
let loaded: Loaded | null = null;

async function load(traces: string, { folder, cycle_ns, has_steps }: TracedProgram): Promise<Loaded> {
  const path = join(traces, folder);
  if (loaded?.path === path) return loaded;
  loaded = null;
  const whole = await loadTrace(path);
  const trace = has_steps ? whole : { ...whole, steps: [] };
  loaded = { path, trace, truth: exactFigures(trace, cycle_ns, passGapNs(null)) };
  return loaded;
}

/** Rows of what is no known data have the names of those of the cache. */
const isOfData = ({ region_type }: MetricRow): boolean => region_type !== "unknown";

/** @param traces folder of all traces */
export function tracedWorlds(programs: readonly TracedProgram[], traces: string): SourceWorld[] {
  return programs.flatMap((program) =>
    SAMPLINGS.map(({ what, sampler, unshadowed }) => ({
      name: `${program.name}${what}`,
      sources: [sampler.source],
      async run(seed: number) {
        const { trace, truth } = await load(traces, program);
        const rows = await tracedRun(trace, sampler, unshadowed, program.cycle_ns, seed);
        return { rows: rows.filter(isOfData), truth };
      },
    })),
  );
}
