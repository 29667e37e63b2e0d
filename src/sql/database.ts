/** The SQL engine behind labelling and analysis, with its limits set: in memory, two threads, bounded. */
import { statSync } from "node:fs";
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from "@duckdb/node-api";

export interface EngineLimits {
  readonly threads?: number;
  readonly memoryLimitBytes?: number;
  /** Ends the query that runs, and refuses all later ones, with its reason. */
  readonly signal?: AbortSignal;
}

export interface DatabaseLimits extends EngineLimits {
  /** Where the engine spills when the limit is reached. */
  readonly spillFolder?: string;
}

export interface Database extends AsyncDisposable {
  readonly connection: DuckDBConnection;
  run(sql: string): Promise<void>;
  /** Rows as objects; 64-bit integers are bigint, null is null. */
  rows(sql: string): Promise<Record<string, DuckDBValue>[]>;
}

export const DEFAULT_MEMORY_BYTES = 512 * 2 ** 20;

/** Opens an empty database in memory; disposing it frees everything. */
export async function openDatabase(limits: DatabaseLimits = {}): Promise<Database> {
  const options: Record<string, string> = {
    threads: String(limits.threads ?? 2),
    memory_limit: `${Math.floor((limits.memoryLimitBytes ?? DEFAULT_MEMORY_BYTES) / 2 ** 20)}MiB`,
    // Nothing here may reach the network or the user's own extensions.
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    // Files are read once or twice, and the system keeps them: a second copy would only take the place of rows.
    enable_external_file_cache: "false",
  };
  if (limits.spillFolder !== undefined) options.temp_directory = limits.spillFolder;
  const instance = await DuckDBInstance.create(":memory:", options);
  const connection = await instance.connect();
  const { signal } = limits;
  const interrupt = (): void => connection.interrupt();
  signal?.addEventListener("abort", interrupt);
  /** What a query says that was interrupted is why it was. */
  const until = async <T>(query: () => Promise<T>): Promise<T> => {
    signal?.throwIfAborted();
    try {
      return await query();
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  };
  return {
    connection,
    run: (sql) =>
      until(async () => {
        await connection.run(sql);
      }),
    rows: (sql) => until(async () => (await connection.runAndReadAll(sql)).getRowObjects()),
    async [Symbol.asyncDispose]() {
      signal?.removeEventListener("abort", interrupt);
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** A text as an SQL literal. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A path as an SQL literal that means one file: the engine would take it for a pattern of several. */
export const quotePath = (path: string): string => quote(path.replace(/[*?[]/g, "[$&]"));

/** Paths as the argument of `read_parquet`. @throws Error for a pipe or a device, which the engine would wait for without an end */
export function parquetScan(paths: readonly string[], options = ""): string {
  for (const path of paths) {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw new Error(`${path} is no regular file`);
  }
  return `read_parquet([${paths.map(quotePath).join(", ")}]${options === "" ? "" : `, ${options}`})`;
}
