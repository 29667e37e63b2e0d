/** What the tool would say of a described world, over some runs of it. */
import type { DescribedWorld } from "../config/world-schema.ts";
import type { SimulatedFigure, Simulation } from "../schema/simulation.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { type CoverageRow, coverageOf, type Runs } from "./coverage.ts";
import { describedWorld, type Refuse } from "./described-world.ts";

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

function figureOf(row: CoverageRow): SimulatedFigure {
  const { region_type, metric, step, unit, runs, ok, bound, refused, held, right, why } = row;
  const { truth, medians, bounds, half_width } = row;
  return {
    region_type,
    metric,
    step,
    unit,
    runs,
    ok,
    bound,
    refused,
    truth: truth === null ? null : { lo: finite(truth.lo), hi: finite(truth.hi) },
    ...medians,
    half_width_pct: half_width === null ? null : 100 * half_width,
    held,
    bound_lo: bounds.lo,
    bound_hi: bounds.hi,
    right,
    why,
  };
}

/**
 * Runs the world with `seeds` seeds, from `first` on.
 * @param onShare told before the first run and after each how much is done
 * @param refuse the error for a stratum that cannot be had
 * @throws MrmTraceError usage, when it has more accesses than can be kept
 */
export function simulate(
  described: DescribedWorld,
  { seeds, first = 1 }: Pick<Runs, "seeds" | "first">,
  { onShare = () => {}, refuse }: { onShare?: (share: number) => void; refuse?: Refuse } = {},
): Simulation {
  // The first run alone may take some seconds.
  onShare(0);
  const { name, run, budget, trap, retarget } = described;
  const policy = { budget_pct: budget, trap_ns: trap, retarget_ns: retarget };
  return {
    schema_version: JSON_SCHEMA_VERSION,
    world: name,
    seeds,
    first_seed: first,
    run_s: run / 1e9,
    budget_pct: budget,
    figures: coverageOf(describedWorld(described, refuse), { seeds, first }, policy, (done) => onShare(done / seeds))
      // The whole run is told once: as if no step were known.
      .filter(({ phase, step }) => phase !== "generation" || step !== "all")
      .map(figureOf),
  };
}
