/** A run directory as a comparison needs it: its figures and what they were taken from. */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { reasonOf, refuseOtherFile } from "../label/capture/capture.ts";
import { runPaths } from "../run-directory/run-directory.ts";
import { columnsOf } from "../schema/columns.ts";
import { refuseOtherMajor } from "../schema/refuse-version.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { type Database, openDatabase, parquetScan } from "../sql/database.ts";

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

async function rowsOf(database: Database, path: string): Promise<SavedRow[]> {
  const names = columnsOf("metrics").map(({ name }) => name);
  try {
    await refuseOtherFile(database, path);
    const rows = await database.rows(`SELECT ${names.join(", ")} FROM ${parquetScan([path])}`);
    return rows.map((row) =>
      Object.fromEntries(
        names.map((name) => {
          const value = row[name];
          if (typeof value === "string" || typeof value === "number") return [name, value];
          return [name, typeof value === "bigint" ? Number(value) : null];
        }),
      ),
    );
  } catch (cause) {
    if (cause instanceof MrmTraceError) throw cause;
    const hint = "derive the run again: mrm-trace analyse RUN_DIR";
    throw new MrmTraceError("data_quality", `${path} cannot be read: ${reasonOf(cause)}`, hint, { cause });
  }
}

/**
 * Reads what `run` or `analyse` derived.
 * @throws MrmTraceError usage where it is no run directory, data_quality where its files cannot be read or have another
 *   major schema version
 */
export async function readSavedRun(path: string): Promise<SavedRun> {
  const { metadata, metrics_parquet } = runPaths(path);
  if (!existsSync(metadata) || !existsSync(metrics_parquet)) {
    throw new MrmTraceError(
      "usage",
      `${path} is no run directory with metrics`,
      "name folders such as results/MODEL/RUN_ID; derive one that was cut short: mrm-trace analyse RUN_DIR",
    );
  }
  await using database = await openDatabase();
  return { path, metadata: readMetadata(metadata), rows: await rowsOf(database, metrics_parquet) };
}
