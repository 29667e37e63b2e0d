/** The sampling sources (pebs, ibs): one event per CPU and kind of access, at rates that keep a budget. */
import { readFileSync } from "node:fs";
import type { Batch } from "../../../columnar/batch.ts";
import { blockReader } from "../../../columnar/blocks.ts";
import { MrmTraceError } from "../../../errors.ts";
import { onlineCpus, possibleCpus } from "../../../kernel/cpus.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";
import { SAMPLE } from "../../../schema/shared-numbers.ts";
import { seededDraws } from "../../../statistics/prng.ts";
import { type SamplePlan, UNTESTED } from "./choose-sources.ts";
import { createHeat, type Heat } from "./heat.ts";
import { type RunningEvent, startEvent } from "./running-event.ts";
import { type CountName, loadSampleProgram } from "./sample-program.ts";
import { accessesOf, forEachSample } from "./sample-rows.ts";
import type { SampleSummary } from "./sample-summary.ts";
import { createSourceTally } from "./tally.ts";

export interface SampleOptions {
  readonly plan: SamplePlan;
  /** Such as 6.12.117+deb12-amd64. */
  readonly kernelRelease: string;
  /** The map of watched processes. */
  readonly targetsFd: number;
  /** Share of each CPU that sampling may cost, in percent. */
  readonly budgetPct: number;
  readonly seed: number;
  /** Time between two choices of periods, ns; one second unless told. */
  readonly adaptEveryNs?: bigint;
}

export interface SampleReader extends Disposable {
  readonly heat: Heat;
  /** Chooses periods anew when it is time; `nowNs` is CLOCK_MONOTONIC. */
  poll(nowNs: bigint): void;
  /** Rows since the last call: `access`. */
  drain(): Batch<"access">[];
  /** Stops every event, so that the last drain is exact. */
  detach(): void;
  /** After the last drain. */
  ledger(): LedgerRow[];
  summary(): SampleSummary;
}

/** An interrupt, the kernel's work on the sample, and our program: published figures say 1.5 to 2.5 us. */
export const ASSUMED_SAMPLE_NS = { value: 2500, lo: 1000, hi: 5000 };
const SECOND_NS = 1_000_000_000n;
const MAX_SAMPLE_RATE = "/proc/sys/kernel/perf_event_max_sample_rate";

function maxSampleRate(): number | null {
  try {
    return Number(readFileSync(MAX_SAMPLE_RATE, "utf8"));
  } catch {
    // A kernel without it has no such limit to report.
    return null;
  }
}

/**
 * Loads the program and starts sampling on every CPU.
 * @throws MrmTraceError environment, where the kernel refuses an event that is needed
 */
export async function openSamples(options: SampleOptions): Promise<SampleReader> {
  const { plan } = options;
  if (plan.events.length > SAMPLE.events) {
    throw new MrmTraceError(
      "environment",
      `${plan.events.length} sampling events are more than the ${SAMPLE.events} that the program counts`,
      "use --source watch, and report the PMUs of this machine",
    );
  }
  using opening = new DisposableStack();
  const loaded = opening.use(await loadSampleProgram(options.targetsFd));
  const events = opening.use(new DisposableStack());
  const random = seededDraws(options.seed);
  const running: RunningEvent[] = [];
  const refused: string[] = [];
  const rateBefore = maxSampleRate();
  const online = onlineCpus();
  for (const [index, event] of plan.events.entries()) {
    const started = startEvent({ event, index, online, random, kernelRelease: options.kernelRelease, loaded });
    if (started.ok) running.push(events.use(started.running));
    else if (event.counts) throw started.refused;
    else refused.push(started.refused.message);
  }
  const owned = opening.move();
  const heat = createHeat();
  const tally = createSourceTally();
  const every = options.adaptEveryNs ?? SECOND_NS;
  const cpus = Array.from({ length: possibleCpus() }, (_, cpu) => cpu);
  const total = (name: CountName): number =>
    running.reduce((sum, { index }) => sum + cpus.reduce((count, cpu) => count + loaded.count(cpu, index, name), 0), 0);
  let adaptedNs: bigint | null = null;
  let kept = 0;
  const readBlocks = blockReader("sample");
  let attached = true;

  function detach(): void {
    if (!attached) return;
    attached = false;
    for (const event of running) event.stop();
    events.dispose();
  }

  return {
    heat,
    poll(nowNs) {
      heat.turn(nowNs);
      adaptedNs ??= nowNs;
      if (!attached || nowNs - adaptedNs < every) return;
      const seconds = Number(nowNs - adaptedNs) / 1e9;
      adaptedNs = nowNs;
      for (const one of running) {
        one.adapt(seconds, ((options.budgetPct / 100) * 1e9 * one.event.share) / ASSUMED_SAMPLE_NS.value);
      }
    },
    drain() {
      const batch: Batch<"sample"> = { ...loaded.ring.drain(readBlocks), table: "sample" };
      if (batch.rows === 0) return [];
      kept += batch.rows;
      forEachSample(batch, (sample) => {
        heat.add(sample.pid, sample.page);
        tally.add(sample.sourceLow, sample.sourceHigh);
      });
      return [accessesOf(batch, plan.events, plan.source)];
    },
    detach,
    ledger() {
      const place = { stream: "access", source: plan.source, way: null } as const;
      const seen = total("runs");
      const filtered = total("foreign") + total("not_memory") + total("kernel_address");
      const unreadable = total("unreadable");
      return [
        {
          ...place,
          stage: "observe",
          pid: null,
          seen,
          kept: seen - filtered - unreadable,
          filtered,
          dropped: unreadable,
          dropped_by: { unreadable },
          unseen_estimate: Math.round(running.reduce((sum, event) => sum + event.summary().unseen, 0)),
        },
        ...loaded.ring.ledger({ ...place, stage: "ring" }),
      ];
    },
    summary: () => ({
      source: plan.source,
      hardware: UNTESTED,
      events: running.map((event) => event.summary()),
      refused,
      samples: total("runs"),
      rows: kept,
      foreign: total("foreign"),
      not_memory: total("not_memory"),
      kernel_address: total("kernel_address"),
      throttled: total("throttled"),
      max_sample_rate: { before: rateBefore, after: maxSampleRate() },
      data_sources: tally.summary(),
      assumed_sample_ns: ASSUMED_SAMPLE_NS.value,
    }),
    [Symbol.dispose]() {
      detach();
      owned.dispose();
    },
  };
}
