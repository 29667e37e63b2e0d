/** The experiment, as one sentence: warm every arm up, run the blocks that were declared, say what they show. */

import { MrmTraceError } from "../errors.ts";
import { MIN_BLOCKS } from "../overhead/ab.ts";
import { mirroredOrder } from "../overhead/arm-order.ts";
import { armEffects, type EffectBlock, RUNS_PER_BLOCK } from "../overhead/effect.ts";
import type {
  ArmEffect,
  EffectFigure,
  EffectInterval,
  EffectRun,
  FigureEffect,
  FigureValues,
} from "../schema/observer-effect.ts";
import { OFF } from "../schema/observer-effect.ts";
import type { Verdict } from "../schema/words.ts";
import type { Arm } from "./arms.ts";
import { runUnit, type TracerUse, type UnitRequest, type UnitResult } from "./run-unit.ts";

export interface MeasureRequest extends Omit<UnitRequest, "arm"> {
  readonly arms: readonly Arm[];
  readonly repeats: number;
  readonly marginPct: number;
  readonly say: (line: string) => void;
  /** Runs one unit; `runUnit` unless something else shall be compared. */
  readonly unit?: (request: UnitRequest) => Promise<UnitResult>;
}

export interface Measured {
  readonly blocks: number;
  readonly complete: boolean;
  /** What ended the experiment early; null where nothing did, or a signal. */
  readonly failure: MrmTraceError | null;
  readonly deciding_figure: EffectFigure;
  readonly arms: readonly ArmEffect[];
  readonly runs: readonly EffectRun[];
  readonly threads: number | null;
  readonly openMp: boolean;
  readonly unpinned: number;
}

interface Taken {
  readonly block: number;
  readonly arm: Arm;
  readonly result: UnitResult;
}

function rowOf({ block, arm, result }: Taken): EffectRun {
  const { figures, tokens, clients, requests, tracer, threads, pinned } = result;
  return {
    block,
    arm: arm.name,
    ...figures,
    ...tokens,
    ...(clients === undefined ? {} : { clients }),
    ...(requests === undefined ? {} : { requests }),
    ...(tracer === null ? {} : { events_lost: tracer.events_lost }),
    threads,
    pinned,
  };
}

/**
 * Runs every arm once, those first that may refuse; one that cannot run on this machine is left out with its reason.
 * @throws MrmTraceError environment, where tracers were asked for and none can run; as `runUnit` does
 */
async function warmUp(request: MeasureRequest, unit: (arm: Arm, block: number) => Promise<UnitResult>) {
  const able: Arm[] = [];
  const unavailable = new Map<string, string>();
  const taken: Taken[] = [];
  const traced = request.arms.filter(({ options }) => options !== null);
  const others = request.arms.filter(({ options }) => options === null);
  for (const arm of [...traced, ...others]) {
    if (others.includes(arm) && unavailable.size > 0 && unavailable.size === traced.length) {
      throw new MrmTraceError("environment", [...unavailable.values()].join("; "), "see: mrm-trace doctor");
    }
    try {
      taken.push({ block: -1, arm, result: await unit(arm, -1) });
      able.push(arm);
    } catch (error) {
      if (!(error instanceof MrmTraceError) || error.code !== "environment") throw error;
      unavailable.set(arm.name, `${error.message} (${error.hint})`);
      request.say(`${arm.name} cannot run here: ${error.message}`);
    }
  }
  return { able, unavailable, taken };
}

function blocksOf(taken: readonly Taken[], arms: readonly Arm[], count: number): EffectBlock[] {
  return Array.from({ length: count }, (_, block) => {
    const figures = (name: string): FigureValues[] =>
      taken.filter((one) => one.block === block && one.arm.name === name).map(({ result }) => result.figures);
    return new Map(arms.map(({ name }) => [name, figures(name)]));
  });
}

function meanOf(uses: readonly TracerUse[], field: keyof TracerUse): number | null {
  const values = uses.map((use) => use[field]).filter((value) => value !== null);
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Time that the target lost per event, where runs of a fixed amount of work tell it. */
function costPerEvent(wall: FigureEffect | undefined, events: number | null): EffectInterval | null {
  if (wall === undefined || events === null || events === 0) return null;
  const each = (pct: number): number => ((pct / 100) * wall.off * 1e9) / events;
  const { value, lo, hi } = wall.slowdown_pct;
  return { value: each(value), lo: each(lo), hi: each(hi) };
}

function effectOfArm(
  arm: Arm,
  figures: readonly FigureEffect[],
  results: readonly UnitResult[],
  deciding: EffectFigure,
): ArmEffect {
  const uses = results.map(({ tracer }) => tracer).filter((use) => use !== null);
  const events = meanOf(uses, "events_kept");
  const bytes = meanOf(uses, "capture_bytes");
  const verdict: Verdict = figures.find(({ figure }) => figure === deciding)?.verdict ?? "INCONCLUSIVE";
  return {
    arm: arm.name,
    options: arm.options ?? [],
    unavailable: null,
    verdict,
    figures,
    runs: results.length,
    events_kept: events,
    events_lost: meanOf(uses, "events_lost"),
    loss_pct: meanOf(uses, "loss_pct"),
    capture_bytes_per_event: events && bytes !== null ? bytes / events : null,
    tracer_cpu_pct: meanOf(uses, "cpu_pct"),
    tracer_rss_bytes: meanOf(uses, "rss_bytes"),
    cost_per_event_ns: costPerEvent(
      figures.find(({ figure }) => figure === "wall_s"),
      events,
    ),
  };
}

function unavailableArm(arm: Arm, why: string): ArmEffect {
  const unknown = { events_kept: null, events_lost: null, loss_pct: null, capture_bytes_per_event: null };
  const costs = { tracer_cpu_pct: null, tracer_rss_bytes: null, cost_per_event_ns: null };
  const options = arm.options ?? [];
  return {
    arm: arm.name,
    options,
    unavailable: why,
    verdict: "INCONCLUSIVE",
    figures: [],
    runs: 0,
    ...unknown,
    ...costs,
  };
}

/** What was declared was not reached: the intervals stand, the claims do not. */
function withoutClaims(arms: readonly ArmEffect[], why: string): ArmEffect[] {
  const verdict = "INCONCLUSIVE" as const;
  return arms.map((arm) => ({ ...arm, verdict, figures: arm.figures.map((one) => ({ ...one, verdict, why })) }));
}

/**
 * Measures the arms in mirrored blocks. When the signal comes or a run fails after the first run that counts, what is
 * there is returned without claims.
 * @throws MrmTraceError before that, as `runUnit` does and what the signal carries
 */
export async function measureArms(request: MeasureRequest): Promise<Measured> {
  const { signal, say, seed, marginPct } = request;
  const blocks = Math.max(1, Math.ceil(request.repeats / RUNS_PER_BLOCK));
  let number = 0;
  const unit = async (arm: Arm): Promise<UnitResult> => {
    const result = await (request.unit ?? runUnit)({ ...request, arm, seed: (seed + number) >>> 0 });
    number += 1;
    return result;
  };
  if (blocks < MIN_BLOCKS) {
    const what = blocks === 1 ? "neither an interval nor a verdict" : "intervals, but no verdict";
    say(`fewer than ${RUNS_PER_BLOCK * (blocks === 1 ? 2 : MIN_BLOCKS)} repeats give ${what}`);
  }
  const { able, unavailable, taken } = await warmUp(request, unit);
  const began = performance.now();
  let done = 0;
  let failure: MrmTraceError | null = null;
  const order = mirroredOrder(
    able.map(({ name }) => name),
    blocks,
    seed,
  );
  try {
    for (const [block, names] of order.entries()) {
      for (const name of names) {
        const arm = able.find((one) => one.name === name);
        if (arm !== undefined) taken.push({ block, arm, result: await unit(arm) });
      }
      done = block + 1;
      const leftMin = (((performance.now() - began) / done) * (blocks - done)) / 60_000;
      say(`block ${done} of ${blocks}${done < blocks ? `, about ${Math.ceil(leftMin)} min left` : ""}`);
    }
  } catch (error) {
    const isKnown = error instanceof MrmTraceError;
    if (!isKnown || !taken.some(({ block }) => block >= 0)) throw error;
    failure = signal.aborted ? null : error;
  }
  const whole = blocksOf(taken, able, done);
  const counted = taken.filter(({ block }) => block >= 0 && block < done);
  const hasTokens = taken.some(({ arm, result }) => arm.name === OFF && result.figures.tokens_per_s !== null);
  const deciding: EffectFigure = hasTokens ? "tokens_per_s" : "wall_s";
  const arms = request.arms
    .filter(({ name }) => name !== OFF)
    .map((arm) => {
      const why = unavailable.get(arm.name);
      if (why !== undefined) return unavailableArm(arm, why);
      const results = counted.filter((one) => one.arm === arm).map(({ result }) => result);
      return effectOfArm(arm, armEffects(whole, arm.name, { marginPct, seed }), results, deciding);
    });
  const threads = taken.map(({ result }) => result.threads ?? 0);
  return {
    blocks: done,
    complete: done === blocks,
    failure,
    deciding_figure: deciding,
    arms: done === blocks ? arms : withoutClaims(arms, `stopped after ${done} of ${blocks} declared blocks`),
    runs: taken.map(rowOf),
    threads: threads.length === 0 ? null : Math.max(...threads) || null,
    openMp: taken.some(({ result }) => result.openMp),
    unpinned: counted.filter(({ result }) => !result.pinned).length,
  };
}
