/** One event of the plan while it samples, on every CPU that has it. */
import type { MrmTraceError } from "../../../errors.ts";
import { readPerfCount, setPerfPeriod } from "../../../kernel/perf-event.ts";
import type { Random } from "../../../statistics/prng.ts";
import { checkCount, type EventTally } from "./count-check.ts";
import { type OpenedEvent, openRefused, openSampleEvent } from "./open-event.ts";
import { adaptedPeriod, ditheredPeriod, isDue } from "./period.ts";
import type { SampleEvent } from "./sample-event.ts";
import { cookieOf, type SampleProgram } from "./sample-program.ts";
import type { EventSummary } from "./sample-summary.ts";

export interface RunningEvent extends Disposable {
  readonly event: SampleEvent;
  /** Its number in the plan. */
  readonly index: number;
  /** New periods, at a middle that brings the busiest CPU to the rate wanted; varied even where that holds. */
  adapt(seconds: number, wantedPerSecond: number): void;
  /** Stops counting and sampling, and keeps what was counted. */
  stop(): void;
  summary(): EventSummary;
}

export interface StartRequest {
  readonly event: SampleEvent;
  readonly index: number;
  readonly online: readonly number[];
  readonly random: Random;
  readonly kernelRelease: string;
  readonly loaded: SampleProgram;
}

export type Started =
  | { readonly ok: true; readonly running: RunningEvent }
  | { readonly ok: false; readonly refused: MrmTraceError };

/** Opens the event on every CPU that has it, then lets all of them run. */
export function startEvent({ event, index, online, random, kernelRelease, loaded }: StartRequest): Started {
  using opening = new DisposableStack();
  const opened: OpenedEvent[] = [];
  let precise = event.mostPrecise;
  for (const cpu of online) {
    if (event.cpus !== null && !event.cpus.includes(cpu)) continue;
    const period = ditheredPeriod(event.startPeriod, event.periodStep, random);
    const result = openSampleEvent(event, cpu, period, kernelRelease, precise);
    if (!result.ok) return { ok: false, refused: openRefused(result, cpu) };
    opened.push(opening.use(result.opened));
    precise = result.opened.precise;
  }
  for (const one of opened) {
    opening.use(loaded.program.attachPerfEvent(one.fd.fd, cookieOf(index, event.op !== null)));
    one.enableLeader();
  }
  return { ok: true, running: runningEvent(event, index, opened, random, loaded, opening.move()) };
}

function runningEvent(
  event: SampleEvent,
  index: number,
  opened: readonly OpenedEvent[],
  random: Random,
  loaded: SampleProgram,
  owned: DisposableStack,
): RunningEvent {
  const runsBefore = new Map<number, number>();
  const runsAtPeriod = new Map<number, number>();
  let middle = event.startPeriod;
  let stopped: readonly EventTally[] | null = null;
  const tallies = (): EventTally[] =>
    opened.map(({ cpu, fd }) => {
      const counted = readPerfCount(fd);
      return {
        runs: loaded.count(cpu, index, "runs"),
        period: loaded.count(cpu, index, "period"),
        count: Number(counted?.count ?? 0n),
        enabledNs: Number(counted?.enabledNs ?? 0n),
        runningNs: Number(counted?.runningNs ?? 0n),
        stoppedNs: loaded.count(cpu, index, "stopped_ns"),
      };
    });
  return {
    event,
    index,
    adapt(seconds, wantedPerSecond) {
      let most = 0;
      for (const { cpu } of opened) {
        const runs = loaded.count(cpu, index, "runs");
        most = Math.max(most, runs - (runsBefore.get(cpu) ?? 0));
        runsBefore.set(cpu, runs);
      }
      const before = middle;
      middle = adaptedPeriod(middle, most / seconds, wantedPerSecond);
      for (const { cpu, fd } of opened) {
        const runs = runsBefore.get(cpu) ?? 0;
        if (!isDue(runs - (runsAtPeriod.get(cpu) ?? 0), middle !== before)) continue;
        runsAtPeriod.set(cpu, runs);
        setPerfPeriod(fd, ditheredPeriod(middle, event.periodStep, random));
      }
    },
    stop() {
      if (stopped !== null) return;
      for (const one of opened) one.disable();
      stopped = tallies();
    },
    summary() {
      const final = stopped ?? tallies();
      return {
        name: event.name,
        pmu: event.pmu,
        precise: opened[0]?.precise ?? 0,
        cpus: opened.length,
        period: Math.round(middle),
        samples: final.reduce((sum, { runs }) => sum + runs, 0),
        count: final.reduce((sum, { count }) => sum + count, 0),
        ...checkCount(final),
      };
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
