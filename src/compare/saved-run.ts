/** A run directory as a comparison needs it: its figures and what they were taken from. */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { parquetBatches } from "../columnar/arrow/parquet-batches.ts";
import { assertRefusal } from "../columnar/read/refusal.ts";
import { MrmTraceError } from "../errors.ts";
import { runPaths } from "../run-directory/run-directory.ts";
import { refuseOtherMajor } from "../schema/refuse-version.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";

const word = z.string().nullable().catch(null);
const count = z.number().nullable().catch(null);
const options = z.record(z.string(), z.unknown()).catch({});

/** The parts of metadata.json that a comparison names; what an older version lacks is null. */
const metadataSchema = z.object({
  run_id: z.string(),
  model: z.object({ id: z.string() }),
  machine_id: word,
  collectors: z.array(z.object({ name: z.string(), sources: z.array(z.string()).catch([]) })).catch([]),
  hardware: z.object({ cpu_model: word, cpus: count, virtualisation: word, transparent_hugepage: word }).partial(),
  software: z.object({ kernel: word, mrm_trace: word }).partial(),
  engine: z.looseObject({ name: word }).nullable().catch(null),
  target: z.object({ command: z.array(z.string()).catch([]), threads: count }),
  validity: z.object({ class: z.string() }),
  options,
});
export type SavedMetadata = z.output<typeof metadataSchema>;

/** A row of metrics.parquet. */
export type SavedRow = Readonly<Record<string, string | number | null>>;

export interface SavedRun {
  readonly path: string;
  readonly metadata: SavedMetadata;
  readonly rows: readonly SavedRow[];
}

function readMetadata(path: string): SavedMetadata {
  try {
    const object: unknown = JSON.parse(readFileSync(path, "utf8"));
    // Of another major version nothing else has to fit.
    const versioned = z.object({ schema_version: z.string() }).safeParse(object).data;
    if (versioned !== undefined) refuseOtherMajor(path, versioned.schema_version, JSON_SCHEMA_VERSION);
    return metadataSchema.parse(object);
  } catch (cause) {
    if (cause instanceof MrmTraceError) throw cause;
    const hint = "derive the run again: mrm-trace analyse RUN_DIR";
    throw new MrmTraceError("data_quality", `${path} is not the metadata of a run`, hint, { cause });
  }
}

function rowsOf(path: string): SavedRow[] {
  const rows: SavedRow[] = [];
  try {
    for (const batch of parquetBatches(path, "metrics")) {
      for (const row of batch.toArray()) {
        const cells = Object.entries<unknown>(row.toJSON()).map(([name, value]) => {
          if (typeof value === "string" || typeof value === "number") return [name, value];
          return [name, typeof value === "bigint" ? Number(value) : null];
        });
        rows.push(Object.fromEntries(cells));
      }
    }
  } catch (cause) {
    if (cause instanceof MrmTraceError) throw cause;
    assertRefusal(cause);
    const hint = "derive the run again: mrm-trace analyse RUN_DIR";
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MrmTraceError("data_quality", why, hint, { cause });
  }
  return rows;
}

/**
 * Reads what `run` or `analyse` derived.
 * @throws MrmTraceError usage where it is no run directory, data_quality where its files cannot be read or have another
 *   major schema version
 */
export function readSavedRun(path: string): SavedRun {
  const { metadata, metrics_parquet } = runPaths(path);
  if (!existsSync(metadata) || !existsSync(metrics_parquet)) {
    throw new MrmTraceError(
      "usage",
      `${path} is no run directory with metrics`,
      "name folders such as results/MODEL/RUN_ID; derive one that was cut short: mrm-trace analyse RUN_DIR",
    );
  }
  return { path, metadata: readMetadata(metadata), rows: rowsOf(metrics_parquet) };
}
