/** metadata.json: everything about a run that is not a figure of its data. */
import { encodeRun, type RunJson, type RunReport } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";

export interface MetadataInput {
  readonly report: RunReport;
  /** Facts of the machine; see overhead/host.ts. Null is what nobody recorded. */
  readonly host: {
    readonly machine_id: string | null;
    readonly os: string | null;
    readonly kernel: string | null;
    readonly cpu_model: string | null;
    readonly cpu_freq_scaling_max_mhz: number | null;
  };
  /** Name, libraries and settings of each engine that was recognised. */
  readonly engines: readonly Readonly<Record<string, unknown>>[];
  /** The combination of an experiment to which the run belongs; null outside of one. */
  readonly cell: { readonly context_length: number; readonly batch_size: number; readonly rep_index: number } | null;
  /** When the run began, by the wall clock, and the same moment in ns of CLOCK_MONOTONIC; null where nobody knows. */
  readonly started_at: Date | null;
  readonly started_ns: bigint;
  readonly versions: Readonly<Record<string, string>>;
  /** See overhead/thermal.ts; the two that readers of the Python package look for are always there. */
  readonly thermal: { readonly throttle_events: number | null; readonly peak_temp_c: number | null } & object;
  /** Checks behind the validity class, costs by cause, seed, options: whatever a reader may want to check. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** What the target used, by phase: the figures of the scope `process` that say something. */
function targetUse(metrics: RunJson["metrics"]): object[] {
  return metrics
    .filter(({ scope, status }) => scope === "process" && (status === "ok" || status === "bound"))
    .map(({ metric, phase, step, source, unit, value, lo, hi }) => ({
      metric,
      phase,
      step,
      source,
      unit,
      value,
      lo,
      hi,
    }));
}

/**
 * The object of metadata.json. Keys that readers of the Python package look for (machine_id, model.id, collector.type,
 * generation, thermal, timing, hardware, software) have their names and units; u64 values become decimal strings.
 */
export function runMetadata(input: MetadataInput): Record<string, unknown> {
  const { host, thermal } = input;
  const report = encodeRun(input.report);
  const { target } = report;
  const { os, kernel, ...hardware } = host;
  return {
    schema_version: JSON_SCHEMA_VERSION,
    run_id: report.run_id,
    machine_id: host.machine_id,
    model: { id: report.model_id },
    collector: { type: report.collectors[0]?.name ?? null },
    collectors: report.collectors,
    generation: {
      context_length: input.cell?.context_length ?? null,
      batch_size: input.cell?.batch_size ?? null,
      output_tokens: target.decode_tokens,
      total_output_tokens: target.decode_tokens,
      prompt_tokens: target.prompt_tokens,
      avg_tokens_per_second: target.decode_tokens_per_s,
      ttft_ms: target.ttft_ms,
      rep_index: input.cell?.rep_index ?? null,
    },
    thermal: { run_validity: report.validity, ...thermal },
    timing: {
      total_wall_duration_s: target.wall_s,
      started_at_utc: input.started_at?.toISOString() ?? null,
      started_ns: input.started_ns,
      clock: "CLOCK_MONOTONIC",
    },
    hardware,
    software: { os, kernel, ...input.versions },
    // The first alone, where readers of one engine look.
    engine: input.engines[0] ?? null,
    engines: input.engines,
    target,
    target_use: targetUse(report.metrics),
    validity: { class: report.validity, reasons: report.reasons, not_measured: report.not_measured },
    observer: report.observer,
    ledger: report.ledger,
    loss: report.loss,
    warnings: report.warnings,
    ...input.details,
  };
}
