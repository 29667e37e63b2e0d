/** What a published run holds in every repository of data: its tables, what their columns mean, its metadata, and checksums. */
import { createHash } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { MrmTraceError, reasonText } from "../../errors.ts";
import { runPaths } from "../../run-directory/run-directory.ts";
import { isStream, type RunTable, tableFiles } from "../../run-directory/table-files.ts";
import { columnsOf, TABLES } from "../../schema/columns.ts";
import { toJson } from "../../schema/run-json.ts";
import { PARQUET_SCHEMA_VERSION } from "../../schema/versions.ts";
import { formatCount } from "../../units.ts";
import type { ExportTask } from "../export-format.ts";
import { CHECKSUMS, type NewFolder } from "../new-folder.ts";
import type { RunSource } from "../run-source.ts";

const READ_BYTES = 1 << 18;

/** What was derived; the streams below capture/ are what it was derived from. */
export function publishedTables({ tables }: RunSource): RunTable[] {
  return tables.filter((name) => !isStream(name));
}

/** The bytes of a file, each piece valid until the next. @throws Error where it is a link or no regular file; as the calls do */
function* piecesOf(path: string): Generator<Uint8Array, void, void> {
  // A link in the place of a table would publish whatever file it leads to, and a pipe be waited for.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) throw Object.assign(new Error("it is no regular file"), { path });
    const buffer = new Uint8Array(READ_BYTES);
    for (let got = readSync(fd, buffer); got > 0; got = readSync(fd, buffer)) yield buffer.subarray(0, got);
  } finally {
    closeSync(fd);
  }
}

/** Adds files to a folder, with the digest of each. */
export function datasetFiles(folder: NewFolder, { goOn }: ExportTask) {
  const sums: { readonly name: string; readonly sha256: string }[] = [];

  async function add(name: string, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    using file = folder.open(name);
    const hash = createHash("sha256");
    for await (const piece of pieces) {
      file.write(piece);
      hash.update(piece);
      await goOn(sums.length, null);
    }
    file.finish();
    sums.push({ name, sha256: hash.digest("hex") });
  }

  const addText = async (name: string, text: string): Promise<void> =>
    await add(name, [new TextEncoder().encode(text)]);
  return {
    addText,
    /** Copies a file of the run as it is. @throws MrmTraceError data_quality where it cannot be read, or is a link to another */
    async copy(name: string, path: string): Promise<void> {
      try {
        await add(name, piecesOf(path));
      } catch (cause) {
        if (!(cause instanceof Error && "path" in cause && cause.path === path)) throw cause;
        const hint = "run: mrm-trace analyse RUN_DIR";
        throw new MrmTraceError("data_quality", `${path} cannot be read: ${reasonText(cause)}`, hint, { cause });
      }
    },
    /** Adds the list of all files, as `sha256sum --check` takes it; the last one. */
    async end(): Promise<void> {
      const sorted = [...sums].sort((a, b) => (a.name < b.name ? -1 : 1));
      await addText(CHECKSUMS, sorted.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join(""));
    },
  };
}
export type DatasetFiles = ReturnType<typeof datasetFiles>;

/** Columns of the published tables with type, unit and meaning. */
function schemaJson(tables: readonly RunTable[]): string {
  const described = tables.map((name) => ({
    name,
    about: TABLES[name].doc,
    columns: columnsOf(name).map(({ nullable, name: column, type, unit, doc }) => {
      return { name: column, type, unit, nullable: nullable === true, doc };
    }),
  }));
  return `${toJson({ parquet_schema_version: PARQUET_SCHEMA_VERSION, tables: described }, 2)}\n`;
}

/**
 * Adds what every repository gets: tables, their schema, metadata.json, and the licence that was chosen.
 * @param nameOf where a file of a table goes; `part` is its number, null where the table has one file
 */
export async function addRun(
  files: DatasetFiles,
  { run, license, leaveOut }: ExportTask,
  nameOf: (table: RunTable, part: string | null) => string,
): Promise<void> {
  const tables = publishedTables(run);
  for (const table of tables) {
    const paths = tableFiles(run.runDir, table);
    for (const path of paths) {
      await files.copy(nameOf(table, paths.length > 1 ? basename(path).replace(/\D/g, "") : null), path);
    }
  }
  await files.addText("schema.json", schemaJson(tables));
  await files.copy("metadata.json", join(run.runDir, "metadata.json"));
  if (license === undefined) leaveOut("a licence: none was given (--license cc-by-4.0)");
  else
    await files.addText("LICENSE", `SPDX-License-Identifier: ${license}\nhttps://spdx.org/licenses/${license}.html\n`);
  // They may be somebody's words: nobody publishes them by not having thought of them.
  if (existsSync(runPaths(run.runDir).prompt_outputs))
    leaveOut("prompt_outputs.json, texts of prompts: copy it where they may be public");
  const streams = run.tables.filter((name) => !tables.includes(name));
  const rows = streams.reduce((sum, name) => sum + run.countRows(name), 0);
  if (streams.length > 0)
    leaveOut(`what was recorded, ${formatCount(rows)} rows below capture/: tables are what was derived`);
}
