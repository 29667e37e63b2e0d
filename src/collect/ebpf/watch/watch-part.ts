/** The part that watches bytes with debug registers: drawn at random over the live regions, or named by a person. */
import type { WatchedWord } from "../../../config/watched-word.ts";
import { promptly } from "../../../kernel/urgent.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import { seededRandom } from "../../../statistics/prng.ts";
import { calibratedCost } from "../../calibrated-cost.ts";
import { copyCost, copyWarning } from "../copies/copy-cost.ts";
import { givenBackRanges, goneRanges } from "../lifecycle/gone-ranges.ts";
import { ATTENTIVE_MS, type Part, type PartPrograms, type PlannedPart, type Scene } from "../part.ts";
import { whyBlind } from "./calibrate.ts";
import { liveRegions } from "./frame/live-regions.ts";
import { openResidency } from "./frame/residency.ts";
import { createResidentWords } from "./frame/resident-words.ts";
import { registerWarning } from "./register-warning.ts";
import { cpusOffline, treeAffinityCpus, treeCpusBeside } from "./tree-cpus.ts";
import { startWatch, type WatchSource } from "./watch.ts";
import { loadWatchObject } from "./watch-program.ts";

export interface WatchPartOptions {
  /** Debug registers to use on each CPU. */
  readonly registers: number;
  readonly seed: number;
  /** True where the whole budget and a part of it hold by turns. */
  readonly byTurns: boolean;
  /** True where this process is the tracer's alone: one that a program called keeps the priority of that program. */
  readonly isOwnProcess: boolean;
  /** Words to watch all the time, in place of drawn ones; empty for drawn ones. */
  readonly words: readonly WatchedWord[];
}

export const watchPrograms: PartPrograms = {
  name: "watch",
  gives: "watched loads and stores",
  required: true,
  tells: ["watch"],
  load: async (reuse) => ({ object: await loadWatchObject(reuse), uprobeMulti: false }),
};

/** Ends the watches on what a call took away. */
function follow(watch: WatchSource, row: MappingEvent): void {
  if (row.kind === "exit" || row.kind === "exec") {
    watch.onExit(row.pid, row.timestamp_ns);
    return;
  }
  if (row.kind === "lost" || row.kind === "other_call") {
    watch.onLoss(row.pid, row.begin_ns ?? row.timestamp_ns);
    return;
  }
  for (const { addr, size_bytes } of goneRanges(row)) watch.onUnmap(row.pid, addr, size_bytes, row.timestamp_ns);
  for (const { addr, size_bytes } of givenBackRanges(row))
    watch.onGivenBack(row.pid, addr, size_bytes, row.timestamp_ns);
}

const LATE =
  "the tracer may not go before others on a CPU, which takes CAP_SYS_NICE: where the program has a thread for each CPU " +
  "watches begin late, and more of them while it rests";

/** Separates questions for what is in memory from the draws of a seed. */
const RESIDENCY = 0x72657364;

async function start(
  { registers, seed, byTurns, words, isOwnProcess }: WatchPartOptions,
  scene: Scene,
): Promise<Part | { readonly refused: string }> {
  const { target, mappings, engine, budget, looks, strings } = scene;
  const share = budget.next();
  share.take(share.pct);
  using opening = new DisposableStack();
  const residency = opening.use(openResidency(looks.kind("looks at pages", true)));
  const live = liveRegions(scene, residency);
  const prompt = isOwnProcess ? opening.use(promptly()) : null;
  const watch = await startWatch({
    isPrompt: prompt?.isPrompt === true,
    regions: () => live.regions(),
    knownUntilNs: (nowNs) => live.knownUntilNs(nowNs),
    tokenPeriodNs: () => engine?.tokenPeriodNs() ?? null,
    rowsAhead: () => live.rowsAhead(),
    budgetPct: share.pct,
    byTurns,
    registers,
    seed,
    affinityCpus: treeAffinityCpus(target.pid),
    cpusBeside: (cpus) => treeCpusBeside(target.pid, cpus),
    cpusOffline,
    named: { pid: target.pid, words },
    targetsFd: mappings.targetsFd,
    // Seeded by itself: the draws are those of the seed whatever is in memory.
    resident: createResidentWords(residency, seededRandom(seed, RESIDENCY)),
    looks,
    ...(strings === null ? {} : { strings }),
  });
  opening.use(watch);
  const refused = whyBlind(watch.summary().calibration);
  if (refused !== null) return { refused };
  const owned = opening.move();
  mappings.follow((rows) => {
    live.changed(rows);
    for (const row of rows) follow(watch, row);
  });
  return {
    name: watchPrograms.name,
    sees: { stream: "access", source: "watch" },
    patienceMs: ATTENTIVE_MS,
    poll(nowNs) {
      watch.poll(nowNs);
      return watch.batches();
    },
    beforeRest: (nowNs) => watch.arm(nowNs),
    leave: () => void watch.stop(),
    detach: () => void watch.stop(),
    stop: () => watch.stop(),
    account: () => watch.account(),
    costs() {
      const { counts, calibration, cpus, armed_share, beside_watches } = watch.summary();
      const isKnown = calibration.copies && beside_watches && armed_share > 0;
      const copies = isKnown ? copyCost(beside_watches, calibration.copies) : null;
      return [
        {
          what: "watch traps",
          count: counts.traps,
          each_ns: calibratedCost(calibration.trapNs),
          is_trap: true,
          is_budgeted: true,
        },
        // Every CPU of the target has its own registers: a retarget interrupts each of them once.
        {
          what: "watch retargets",
          count: counts.armings * cpus,
          each_ns: calibratedCost(calibration.retargetNs),
          is_budgeted: true,
          interrupted_cpus: cpus,
        },
        ...(copies === null ? [] : [copies]),
      ];
    },
    warnings() {
      const { calibration, armed_share, beside_watches } = watch.summary();
      const slowed = calibration.copies ? copyWarning(beside_watches, calibration.copies, armed_share) : null;
      return [registerWarning(watch.summary()), slowed, prompt?.isRefused === true ? LATE : null].filter(
        (warning) => warning !== null,
      );
    },
    findings() {
      const { agreement, calibration } = watch.summary();
      return { decoder_agreement: agreement, trap_cost_ns: calibration.warmTrapNs };
    },
    details: () => ({ watch: watch.summary() }),
    [Symbol.dispose]: () => owned.dispose(),
  };
}

export function watchPart(options: WatchPartOptions): PlannedPart {
  return {
    name: watchPrograms.name,
    sources: ["watch"],
    identifies: ["watch"],
    blindTo: "no PMU sampled the accesses",
    spends: true,
    start: (scene) => start(options, scene),
  };
}
