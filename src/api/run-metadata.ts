/** metadata.json of a run, checked and typed where its form is fixed. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { inNumbers, type LedgerRow } from "../schema/ledger.ts";
import { refuseOtherMajor } from "../schema/refuse-version.ts";
import { runJsonSchema } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";

const { shape } = runJsonSchema;
const text = z.string().nullable();

const knownSchema = z.object({
  schema_version: z.string(),
  run_id: z.string(),
  /** Null where another tool recorded the run. */
  machine_id: text,
  model: z.object({ id: z.string() }),
  collectors: shape.collectors,
  timing: z.looseObject({
    total_wall_duration_s: z.number().nullable(),
    started_at_utc: text,
    /** The same moment in ns of CLOCK_MONOTONIC, as a decimal string. */
    started_ns: z.string(),
  }),
  hardware: z.record(z.string(), z.unknown()),
  software: z.looseObject({ os: text, kernel: text, mrm_trace: z.string() }),
  engine: z.record(z.string(), z.unknown()).nullable(),
  target: shape.target,
  validity: z.object({ class: shape.validity, reasons: shape.reasons, not_measured: shape.not_measured }),
  observer: shape.observer,
  warnings: shape.warnings,
});
const metadataSchema = knownSchema.extend({ ledger: shape.ledger }).loose();

/** What metadata.json says; u64 values are bigint. Keys beside the known ones are there as they are in the file. */
export type RunMetadata = Readonly<z.output<typeof knownSchema>> & { readonly [key: string]: unknown };

/** @throws MrmTraceError data_quality where it is missing, no metadata of ours, or of another major version */
export function readMetadata(path: string): { readonly metadata: RunMetadata; readonly ledger: readonly LedgerRow[] } {
  const { ledger, ...metadata } = decode(path);
  return { metadata, ledger: inNumbers(ledger) };
}

function decode(path: string): z.output<typeof metadataSchema> {
  let object: unknown;
  try {
    object = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw unreadable(path, cause);
  }
  const version =
    z.object({ schema_version: z.string() }).safeParse(object).data?.schema_version ?? JSON_SCHEMA_VERSION;
  refuseOtherMajor(path, version, JSON_SCHEMA_VERSION);
  const result = z.safeDecode(metadataSchema, object as z.input<typeof metadataSchema>);
  if (!result.success) throw unreadable(path, result.error);
  return result.data;
}

function unreadable(path: string, cause: unknown): MrmTraceError {
  const why = cause instanceof z.ZodError ? z.prettifyError(cause).split("\n").slice(0, 2).join(" ") : String(cause);
  return new MrmTraceError(
    "data_quality",
    `cannot read ${path}: ${why}`,
    "derive it again: mrm-trace analyse RUN_DIR",
    {
      cause,
    },
  );
}
