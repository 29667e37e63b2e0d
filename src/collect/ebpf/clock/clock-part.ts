/** The part that samples code with a timer and finds the accesses in it, or only where the program is most. */
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import { ATTENTIVE_MS, type Part, type PartPrograms, type PlannedPart, type Scene } from "../part.ts";
import { type ClockOptions, type ClockSource, openClock } from "./clock.ts";
import { loadClockObject } from "./clock-program.ts";
import { clockWarnings } from "./clock-summary.ts";

export interface ClockPartOptions {
  /** Samples per second and CPU. */
  readonly hz: number;
  readonly seed: number;
  /** True where watches are drawn beside it, of which it tells where. */
  readonly hasDraws: boolean;
}

const PROT_EXEC = 4;

export const clockPrograms: PartPrograms = {
  name: "clock",
  gives: "timer samples",
  required: false,
  tells: ["clock"],
  load: async (reuse) => ({ object: await loadClockObject(reuse), uprobeMulti: false }),
};

/** Whose code is where, as far as the timer's samples need it. */
function follow(clock: ClockSource, row: MappingEvent): void {
  const executable = row.prot !== null && (row.prot & PROT_EXEC) !== 0;
  if (row.kind === "fork" && row.child_pid !== null) clock.onFork(row.child_pid, row.pid);
  else if (row.kind === "exec") clock.onExec(row.pid, row.timestamp_ns);
  else if (row.kind === "exit") clock.onExit(row.pid);
  else if (executable && row.kind !== "snapshot") clock.onCode(row.pid);
}

/** Samples per second and CPU that tell where the program is most, and what part of the share of the budget they may take. */
const HEAT_HZ = 50;
const HEAT_SHARE = 0.2;

async function startClock(
  { hz, seed }: Pick<ClockPartOptions, "hz" | "seed">,
  { mappings, budget, looks }: Scene,
  gives: Pick<ClockOptions, "givesRows" | "givesHeat">,
): Promise<Part> {
  const { givesRows, givesHeat } = gives;
  const share = budget.next();
  const budgetPct = givesRows ? share.pct : HEAT_SHARE * share.pct;
  const clock = await openClock({ hz, ...gives, budgetPct, targetsFd: mappings.targetsFd, seed, looks });
  share.take(clock.spendsPct);
  mappings.follow((rows) => {
    for (const row of rows) follow(clock, row);
  });
  return {
    name: clockPrograms.name,
    sees: { stream: "access", source: "clock" },
    offers: { ...(givesHeat ? { heat: clock.heat } : {}), strings: clock.strings },
    patienceMs: ATTENTIVE_MS,
    poll(nowNs) {
      clock.poll(nowNs);
      return clock.batches();
    },
    detach: () => clock.detach(),
    stop: () => clock.stop(),
    account: () => clock.account(),
    costs() {
      const { samples, foreign, cost } = clock.summary();
      return [{ what: "timer", count: samples - foreign, each_ns: cost, is_budgeted: true }];
    },
    warnings: () => (givesRows ? clockWarnings(clock.summary()) : []),
    details: () => ({ clock: clock.summary() }),
    [Symbol.dispose]: () => clock[Symbol.dispose](),
  };
}

export function clockPart(options: ClockPartOptions): PlannedPart {
  return {
    name: clockPrograms.name,
    sources: ["clock"],
    identifies: ["clock"],
    blindTo: "a timer samples time, not accesses, and no bytes were watched",
    spends: true,
    start: (scene) => startClock(options, scene, { givesRows: true, givesHeat: options.hasDraws }),
  };
}

/** The same timer, slower, for watches alone: they are drawn from where the program is most separately. */
export function heatPart({ seed }: Pick<ClockPartOptions, "seed">): PlannedPart {
  return {
    name: clockPrograms.name,
    sources: [],
    identifies: [],
    blindTo: null,
    spends: true,
    start: (scene) => startClock({ hz: HEAT_HZ, seed }, scene, { givesRows: false, givesHeat: true }),
  };
}
