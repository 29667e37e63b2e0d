/** What a recording was worth: its cost, its losses and its validity class, as the facts of the run. */

import type { Collector, Target } from "../collect/collector.ts";
import type { ClockSummary } from "../collect/ebpf/clock/clock-summary.ts";
import { type SampleSummary, sampleWarnings } from "../collect/ebpf/samples/sample-summary.ts";
import { registerWarning } from "../collect/ebpf/watch/register-warning.ts";
import type { WatchSummary } from "../collect/ebpf/watch/watch.ts";
import type { BpfCost } from "../kernel/bpf-costs.ts";
import type { Baseline } from "../overhead/baseline.ts";
import type { hostFacts } from "../overhead/host.ts";
import type { ThermalSummary } from "../overhead/thermal.ts";
import { judgeValidity } from "../overhead/validity.ts";
import type { ProcessUse } from "../record/process-use.ts";
import type { Recording } from "../record/recorder.ts";
import type { RunState } from "../record/run-state.ts";
import type { CanRun, TracerOptions } from "../record/start-collectors.ts";
import { type TokenCount, tokenFacts } from "../record/token-count.ts";
import type { RunFacts } from "../run-directory/facts.ts";
import type { RunDirectory } from "../run-directory/run-directory.ts";
import { balances, type LedgerRow, placeWords } from "../schema/ledger.ts";
import { lostPct, worstLossPct } from "../schema/loss.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import type { Launched } from "../target/held-command.ts";
import type { ExperimentFacts } from "./experiment-facts.ts";
import { costOfRun } from "./slowdown.ts";

/** How a target that we launched ended; null where it has not, and where it is not ours to know. */
export type TargetEnd = Awaited<Launched["ended"]> | null;

export interface JudgeInput {
  readonly recording: Recording;
  readonly ended: TargetEnd;
  readonly started_ns: bigint;
  readonly started_at: Date;
  readonly use: ProcessUse;
  readonly tokens: TokenCount;
  readonly target: Target;
  readonly state: RunState;
  /** The collectors of the run with what they said before it. */
  readonly collectors: readonly { readonly collector: Collector; readonly can: CanRun }[];
  readonly directory: RunDirectory;
  readonly options: TracerOptions;
  /** What the experiment says of this run; null outside of one. */
  readonly experiment: ExperimentFacts | null;
  readonly host: ReturnType<typeof hostFacts>;
  readonly baseline: Baseline;
  readonly cpus: number;
  readonly thermal: ThermalSummary;
  readonly watch: WatchSummary | null;
  readonly samples: SampleSummary | null;
  readonly clock: ClockSummary | null;
  readonly bpfCosts: readonly BpfCost[];
}

/** What our own programs saw of a stream at a stage, by the ways that are named. */
function seenBy(ledger: readonly LedgerRow[], stream: string, stage: string, ways: readonly (string | null)[]): number {
  return ledger
    .filter((row) => row.stream === stream && row.stage === stage && ways.includes(row.way))
    .reduce((sum, row) => sum + row.seen, 0);
}

const pct = (part: number, whole: number | null): number | null => (whole ? (100 * part) / whole : null);

/** The facts of the run; nothing here reads a stream again. */
export function factsOfRun(input: JudgeInput): RunFacts {
  const { recording, use, tokens, watch, ended, target } = input;
  const ledger = recording.ledger;
  const wall_ns = Number(recording.end_ns - input.started_ns);
  const cost = costOfRun({
    // The span of the samples from which the CPU time comes: a short command ends long before the tracer has.
    wall_ns: use.tracer.window_ns || wall_ns,
    cpus: input.cpus,
    tracer_cpu_ns: use.tracer.cpu_ns,
    tracer_peak_rss_bytes: use.tracer.peak_rss_bytes,
    target_cpu_ns: use.target.cpu_ns > 0 ? use.target.cpu_ns : null,
    faults: seenBy(ledger, "fault", "ring", ["fault", "kernel_fault"]),
    mapping_calls: seenBy(ledger, "mapping", "ring", ["calls"]),
    probe_hits: seenBy(ledger, "engine", "observe", [null]),
    probe_cost_ns: input.state.probeCostNs,
    programs: input.bpfCosts,
    watch,
    others: input.collectors.flatMap(({ collector }) => collector.costs?.() ?? []),
  });
  const validity = judgeValidity({
    loss_pct: worstLossPct(ledger),
    observer_cpu_pct: cost.cpu_pct,
    observer_rss_bytes: cost.rss_bytes,
    target_rss_bytes: use.target.peak_rss_bytes || null,
    mem_available_bytes: use.mem_available_bytes,
    baseline_cpu_pct: input.baseline.cpu_pct,
    slowdown_pct: cost.slowdown_pct.value,
    throttle_events: input.thermal.throttle_events,
    peak_temperature_c: input.thermal.peak_temp_c,
  });
  return {
    schema_version: JSON_SCHEMA_VERSION,
    run_id: input.directory.run_id,
    model_id: input.directory.model_id,
    validity: validity.validity,
    reasons: [...validity.reasons],
    not_measured: [...validity.not_measured],
    warnings: warningsOf(input),
    collectors: input.collectors.map(({ collector, can }) => ({
      name: collector.name,
      sources: [...can.sources],
      why_not_better: can.whyNotBetter || null,
    })),
    sight: input.collectors.map(({ collector, can }) => ({
      collector: collector.name,
      identifies: [...can.identifies],
      blind_to: can.blindTo,
    })),
    target: {
      command: [...target.command],
      pid: target.pid,
      pids: [...input.state.pids],
      exit_code: ended?.exit_code ?? null,
      signal: ended?.signal ?? null,
      wall_s: wall_ns / 1e9,
      threads: use.target.peak_threads || null,
      ...tokenFacts(tokens, (lostPct(ledger, "step") ?? 0) > 0),
    },
    ledger: ledger.map((row) => ({ ...row })),
    observer: {
      cpu_pct: cost.cpu_pct,
      rss_bytes: cost.rss_bytes,
      bpf_run_ns:
        input.bpfCosts.length > 0 ? Math.round(input.bpfCosts.reduce((sum, { run_ns }) => sum + run_ns, 0)) : null,
      traps: cost.traps,
      trap_ns: cost.trap_ns,
      slowdown_pct: cost.slowdown_pct,
      rss_pct_of_target: pct(cost.rss_bytes, use.target.peak_rss_bytes),
      rss_pct_of_available: pct(cost.rss_bytes, use.mem_available_bytes),
      baseline_cpu_pct: input.baseline.cpu_pct,
      decoder_agreement: watch?.agreement ?? null,
    },
    started_ns: input.started_ns,
    started_at_utc: input.started_at.toISOString(),
    end_ns: recording.end_ns,
    seed: input.options.seed,
    trap_cost_ns: watch?.calibration.trapNs ?? null,
    stopped_by: recording.reason,
    details: {
      host: input.host,
      options: input.options,
      experiment: input.experiment,
      baseline: input.baseline,
      watch,
      samples: input.samples,
      clock: input.clock,
      ...Object.fromEntries(
        input.collectors.flatMap(({ collector }) => {
          const found = collector.details?.();
          return found === undefined ? [] : [[collector.name, found] as const];
        }),
      ),
      validity_checks: validity.checks,
      cost_parts: cost.parts,
      bpf_programs: input.bpfCosts,
      rows: recording.rows,
      capture_bytes: recording.bytes,
      attached: !target.held,
      // Of the process that was launched; the tree may live longer, and the recording ends with a poll.
      root_wall_ns: ended === null ? null : ended.ended_ns - input.started_ns,
      slowest_poll_ms: recording.slowest_poll_ms,
      thermal: input.thermal,
    },
  };
}

function warningsOf({ recording, collectors, target, ended, watch, samples }: JudgeInput): string[] {
  const out: string[] = samples === null ? [] : sampleWarnings(samples);
  for (const { collector } of collectors) out.push(...(collector.warnings?.() ?? []));
  for (const row of recording.ledger) {
    if (!balances(row)) out.push(`the ledger of ${placeWords(row)} does not balance: a counter is wrong`);
  }
  if (target.held && ended === null) out.push("the target did not end when it was told to, and runs on");
  if (recording.reason === "max_size") out.push("recording stopped at --max-size");
  if (recording.reason === "disk") out.push("recording stopped: a segment could not be written");
  const registers = watch === null ? null : registerWarning(watch);
  if (registers !== null) out.push(registers);
  return out;
}
