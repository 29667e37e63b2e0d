/** What a recording was worth: its cost, its losses and its validity class, as the facts of the run. */
import { cpus } from "node:os";
import type { CollectorFindings } from "../collect/collector.ts";
import type { Baseline } from "../overhead/baseline.ts";
import type { hostFacts } from "../overhead/host.ts";
import { observerCost } from "../overhead/observer.ts";
import { judgeValidity, KILLED, type ValidityResult } from "../overhead/validity.ts";
import type { Recorded } from "../record/record-target.ts";
import type { Recording } from "../record/recorder.ts";
import type { TracerOptions } from "../record/start-collectors.ts";
import { tokenFacts } from "../record/token-count.ts";
import type { RunFacts } from "../run-directory/facts.ts";
import { shown } from "../run-directory/held-folder.ts";
import { recordedCommand } from "../run-directory/recorded-command.ts";
import type { RunDirectory } from "../run-directory/run-directory.ts";
import { balances, placeWords } from "../schema/ledger.ts";
import { lostPct, worstLossPct } from "../schema/loss.ts";
import type { ExperimentFacts } from "../schema/run-details.ts";
import type { EngineCounts } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import type { Launched } from "../target/held-command.ts";
import { formatCounted, formatNs } from "../units.ts";

/** How a target that we launched ended; null where it has not, and where it is not ours to know. */
export type TargetEnd = Awaited<Launched["ended"]> | null;

/** A recording, or what there is of it so far, with what was known before it. */
export interface RunEnd extends Recorded {
  readonly ended: TargetEnd;
  /** True where a target that had not ended was told to. */
  readonly toldToEnd: boolean;
  /** Processes of the command beside the first one that run on after the run; none where it is missing. */
  readonly left?: readonly number[];
  /** Why the texts of the demo are not kept; null or missing where they are, or there are none. */
  readonly untold?: string | null;
  readonly directory: RunDirectory;
  readonly options: TracerOptions;
  /** Words of the command line that repeats the run; null where a file of experiments does. */
  readonly repeatedBy: readonly string[] | null;
  /** What the experiment says of this run; null outside of one. */
  readonly experiment: ExperimentFacts | null;
  readonly host: ReturnType<typeof hostFacts>;
  readonly baseline: Baseline;
  /** What the engine's own server counted, where it was asked. */
  readonly engineCounts?: EngineCounts;
}

/** What tells how long a command ran. */
interface CommandTimes extends Pick<RunEnd, "started_ns" | "ended" | "outlived"> {
  readonly recording: Pick<Recording, "end_ns">;
}

const pct = (part: number, whole: number | null): number | null => (whole ? (100 * part) / whole : null);

/** The facts of the run; nothing here reads a stream again. */
export function factsOfRun(input: RunEnd): RunFacts {
  const { recording, use, busy, tokens, ended, target } = input;
  const ledger = recording.ledger;
  const wall_ns = Number(recording.end_ns - input.started_ns);
  const findings: CollectorFindings = Object.assign({}, ...input.collectors.map((one) => one.collector.findings?.()));
  const cost = observerCost({
    // The span of the samples from which the CPU time comes: a short command ends long before the tracer has.
    wall_ns: use.tracer.window_ns || wall_ns,
    cpus: cpus().length,
    tracer_cpu_ns: use.tracer.cpu_ns,
    tracer_peak_rss_bytes: use.tracer.peak_rss_bytes,
    target_cpu_ns: use.target.cpu_ns > 0 ? use.target.cpu_ns : null,
    target_run_delay_ns: use.target.run_delay_ns,
    target_waiter_cpu_ns: use.target.waiter_cpu_ns,
    machine_busy_ns: use.machine_busy_ns,
    events: input.collectors.flatMap(({ collector }) => collector.costs?.() ?? []),
  });
  const judged = judgeValidity({
    // Before anything is in files there is nothing of which something is lost.
    loss_pct: ledger.length === 0 ? null : worstLossPct(ledger),
    observer_cpu_pct: cost.cpu_pct,
    contention_pct: cost.contention_pct,
    observer_rss_bytes: cost.rss_bytes,
    target_rss_bytes: use.target.peak_rss_bytes || null,
    mem_available_bytes: use.mem_available_bytes,
    baseline_cpu_pct: input.baseline.cpu_pct,
    slowdown_pct: cost.slowdown_pct.value,
    throttle_events: input.thermal.throttle_events,
    peak_temperature_c: input.thermal.peak_temp_c,
  });
  const validity = asItEnded(judged, recording);
  return {
    schema_version: JSON_SCHEMA_VERSION,
    run_id: input.directory.run_id,
    model_id: input.directory.model_id,
    stopped_by: recording.reason,
    validity: validity.validity,
    reasons: [...validity.reasons],
    not_measured: [...validity.not_measured],
    warnings: warningsOf(input),
    collectors: input.collectors.map(({ collector, can }) => ({
      name: collector.name,
      sources: [...can.sources],
      why_not_better: can.whyNotBetter || null,
    })),
    // Our own client of a server looks at no memory.
    sight: input.collectors
      .filter(({ can }) => can.blindTo !== "")
      .map(({ collector, can }) => ({
        collector: collector.name,
        identifies: [...can.identifies],
        blind_to: can.blindTo,
      })),
    target: {
      command: recordedCommand(target.command, input.options.record_command),
      pid: target.pid,
      pids: [...input.pids],
      exit_code: ended?.exit_code ?? null,
      signal: ended?.signal ?? null,
      wall_s: commandNs(input) / 1e9,
      threads: use.target.peak_threads || null,
      busy_threads: busy.mean(tokens.decoding),
      ...tokenFacts(tokens, (lostPct(ledger, "step") ?? 0) > 0),
      ...(input.engineCounts === undefined ? {} : { engine_counts: input.engineCounts }),
    },
    ledger: ledger.map((row) => ({ ...row })),
    observer: {
      cpu_pct: cost.cpu_pct,
      contention_pct: cost.contention_pct,
      rss_bytes: cost.rss_bytes,
      bpf_run_ns: findings.bpf_run_ns ?? null,
      traps: cost.traps,
      trap_ns: cost.trap_ns,
      slowdown_pct: cost.slowdown_pct,
      parts: cost.parts.map(({ what, count, cost_pct, budgeted }) => ({ what, count, cost_pct, budgeted })),
      rss_pct_of_target: pct(cost.rss_bytes, use.target.peak_rss_bytes),
      rss_pct_of_available: pct(cost.rss_bytes, use.mem_available_bytes),
      baseline_cpu_pct: input.baseline.cpu_pct,
      decoder_agreement: findings.decoder_agreement ?? null,
    },
    started_ns: input.started_ns,
    started_at_utc: input.started_at.toISOString(),
    end_ns: recording.end_ns,
    seed: input.options.seed,
    trap_cost_ns: findings.trap_cost_ns ?? null,
    details: {
      host: { ...input.host },
      options: { ...input.options },
      ...(input.repeatedBy === null
        ? {}
        : { repeated_by: recordedCommand(input.repeatedBy, input.options.record_command) }),
      experiment: input.experiment,
      model: input.model,
      baseline: input.baseline,
      ...Object.assign({}, ...input.collectors.map(({ collector }) => collector.details?.())),
      validity_checks: validity.checks,
      cost_parts: cost.parts,
      rows: recording.rows,
      capture_bytes: recording.bytes,
      rows_after_end: recording.rows_after_end,
      attached: !target.held,
      // Of the process that was launched, from the moment in which it was let go; the tree may live longer.
      root_wall_ns: ended === null ? null : ended.ended_ns - (ended.released_ns ?? input.started_ns),
      slowest_poll_ms: recording.slowest_poll_ms,
      thermal: { ...input.thermal },
    },
  };
}

/**
 * How long the command ran in the recording, which begins before it is let go and ends with a poll: until its first process
 * ended, or the last of those that outlived it.
 */
export function commandNs({ ended, outlived, recording, started_ns }: CommandTimes): number {
  const begin_ns = ended?.released_ns ?? started_ns;
  const isOver = ended !== null && !outlived && ended.ended_ns < recording.end_ns;
  return Number((isOver ? ended.ended_ns : recording.end_ns) - begin_ns);
}

/** What was not judged because the tracer did not live to tell passes for no more than marginal. */
function asItEnded(judged: ValidityResult, { reason }: Recording): ValidityResult {
  if (reason !== "killed") return judged;
  const validity = judged.validity === "clean" ? "marginal" : judged.validity;
  return {
    ...judged,
    validity,
    reasons: [...judged.reasons, KILLED],
  };
}

/** Why a recording ended before its target did, and what is missing for that; null where that was asked for, or it did not. */
export function earlyEnd({ recording, started_ns }: Pick<RunEnd, "recording" | "started_ns">): string | null {
  const after = formatNs(Math.max(0, Number(recording.end_ns - started_ns)));
  switch (recording.reason) {
    case "killed":
      return `the tracer was killed, or failed: the files hold the first ${after} of the recording`;
    case "max_size":
      return `recording stopped after ${after}, at --max-size: what came later is not recorded`;
    case "disk": {
      const later = formatCounted(recording.rows_after_end, "row");
      const why = recording.writeError?.message ?? "a file could not be written";
      return `recording stopped after ${after}: ${shown(why)}; ${later} that came later are in no file`;
    }
    default:
      return null;
  }
}

/** What is said of processes that the command has left; null where there are none. */
export function leftText(pids: readonly number[]): string | null {
  if (pids.length === 0) return null;
  const many = pids.length === 1 ? "a process of the command runs" : `${pids.length} processes of the command run`;
  return `${many} on: pid ${pids.join(", ")}`;
}

function warningsOf(input: RunEnd): string[] {
  const { recording, collectors, tokens, ended, toldToEnd } = input;
  const out = collectors.flatMap(({ collector }) => [...(collector.warnings?.() ?? [])]);
  for (const row of recording.ledger) {
    if (!balances(row)) out.push(`the ledger of ${placeWords(row)} does not balance: a counter is wrong`);
  }
  if (toldToEnd && ended === null) out.push("the traced process did not end when it was told to, and runs on");
  const left = leftText(input.left ?? []);
  if (left !== null) out.push(left);
  if (input.untold != null) out.push(input.untold);
  if (tokens.uncalled_graphs > 0) {
    const graphs = formatCounted(tokens.uncalled_graphs, "graph");
    out.push(`the engine computed ${graphs}, and no call that decodes was seen: its steps and tokens are not known`);
  }
  const early = earlyEnd(input);
  if (early !== null) out.push(early);
  return out;
}
