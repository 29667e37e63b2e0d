/** metadata.json of a run directory: what goes into it, and its one reader. */
import { dirname } from "node:path";
import { z } from "zod";
import { MrmTraceError, reasonText } from "../errors.ts";
import { inNumbers, type LedgerRow } from "../schema/ledger.ts";
import type { EngineFacts } from "../schema/model-facts.ts";
import { refuseOtherMajor } from "../schema/refuse-version.ts";
import type { RunDetails } from "../schema/run-details.ts";
import { type RunReport, withRatesRenamed } from "../schema/run-json.ts";
import { type AllocationSite, metadataSchema, type RunMetadata } from "../schema/run-metadata.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { readRegularText } from "./regular-file.ts";
import { analyseCommand } from "./shell-words.ts";

export interface MetadataInput {
  readonly report: RunReport;
  /** Facts of the machine; see overhead/host.ts. Null is what nobody recorded. */
  readonly host: NonNullable<RunDetails["host"]>;
  /** Name, objects and settings of each engine that was recognised. */
  readonly engines: readonly EngineFacts[];
  /** When the run began, by the wall clock, and the same moment in ns of CLOCK_MONOTONIC; null where nobody knows. */
  readonly started_at: Date | null;
  readonly started_ns: bigint;
  readonly end_ns: bigint;
  readonly seed: number;
  readonly trap_cost_ns: number | null;
  readonly versions: { readonly mrm_trace: string } & Readonly<Record<string, string>>;
  readonly allocation_sites: readonly AllocationSite[] | null;
  /** Checks behind the validity class, costs by cause, options: whatever a reader may want to check. */
  readonly details: RunDetails;
}

/** What the target used, by phase: the figures of the scope `process` that say something. */
function targetUse(metrics: RunReport["metrics"]) {
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
 * generation, thermal, timing, hardware, software) have their names and units; u64 values are decimal strings.
 * @throws ZodError where a value has no JSON form, which is a bug
 */
export function runMetadata(input: MetadataInput): z.input<typeof metadataSchema> {
  const { report, end_ns, seed, trap_cost_ns } = input;
  const { host: _, thermal, experiment, model, ...details } = input.details;
  const { target } = report;
  const { machine_id, os, kernel, ...hardware } = input.host;
  const metadata: z.output<typeof metadataSchema> = {
    schema_version: JSON_SCHEMA_VERSION,
    run_id: report.run_id,
    machine_id,
    model: { ...model, id: report.model_id },
    collector: { type: report.collectors[0]?.name ?? null },
    collectors: report.collectors,
    generation: {
      context_length: experiment?.context_length ?? null,
      batch_size: experiment?.batch_size ?? null,
      output_tokens: target.decode_tokens,
      total_output_tokens: target.decode_tokens,
      prompt_tokens: target.prompt_tokens,
      avg_tokens_per_second: target.decode_tokens_per_s,
      ttft_ms: target.ttft_ms,
      rep_index: experiment?.rep_index ?? null,
    },
    thermal: { run_validity: report.validity, throttle_events: null, peak_temp_c: null, ...thermal },
    timing: {
      total_wall_duration_s: target.wall_s,
      started_at_utc: input.started_at?.toISOString() ?? null,
      started_ns: input.started_ns,
      clock: "CLOCK_MONOTONIC",
    },
    hardware,
    software: { os, kernel, ...input.versions },
    engine: input.engines[0] ?? null,
    engines: input.engines,
    target,
    target_use: targetUse(report.metrics),
    validity: { class: report.validity, reasons: report.reasons, not_measured: report.not_measured },
    observer: report.observer,
    ledger: report.ledger,
    loss: report.loss,
    labels: report.labels,
    requests: report.requests,
    more_time: report.more_time,
    invariance: report.invariance,
    warnings: report.warnings,
    ...details,
    experiment: experiment ?? null,
    stopped_by: report.stopped_by,
    end_ns,
    seed,
    trap_cost_ns,
    allocation_sites: input.allocation_sites,
  };
  return z.encode(metadataSchema, metadata);
}

/** What a reader of the metadata will have. */
export function metadataInMemory(metadata: z.input<typeof metadataSchema>): RunMetadata {
  return z.decode(metadataSchema, metadata);
}

/** @throws MrmTraceError data_quality where it is missing, no metadata of ours, or of another major version */
export function readMetadata(path: string): { readonly metadata: RunMetadata; readonly ledger: readonly LedgerRow[] } {
  const { ledger, ...metadata } = decode(path);
  return { metadata, ledger: inNumbers(ledger) };
}

function decode(path: string): z.output<typeof metadataSchema> {
  let object: unknown;
  try {
    object = JSON.parse(readRegularText(path));
  } catch (cause) {
    throw unreadable(path, cause);
  }
  // Of another major version nothing else has to fit.
  const version = z.object({ schema_version: z.string() }).safeParse(object).data?.schema_version;
  refuseOtherMajor(path, version ?? JSON_SCHEMA_VERSION, JSON_SCHEMA_VERSION);
  const result = z.safeDecode(metadataSchema, withRatesRenamed(object) as z.input<typeof metadataSchema>);
  if (!result.success) throw unreadable(path, result.error);
  return result.data;
}

function unreadable(path: string, cause: unknown): MrmTraceError {
  const hint = `derive it again, as it was changed or cut: ${analyseCommand(dirname(path))}`;
  return new MrmTraceError("data_quality", `cannot read ${path}: ${whyUnreadable(cause)}`, hint, { cause });
}

function whyUnreadable(cause: unknown): string {
  if (cause instanceof SyntaxError) return "it is no whole JSON";
  if (!(cause instanceof z.ZodError)) return reasonText(cause);
  const place = cause.issues[0]?.path.join(".") ?? "";
  return place === "" ? "it is no JSON object" : `${place} is not what mrm-trace writes there`;
}
