/** One run of the command line from a benchmark, and questions to what it captured. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monotonicNs } from "../../src/kernel/libc.ts";
import { openDatabase, quote } from "../../src/sql/database.ts";

const CLI = new URL("../../src/cli.ts", import.meta.url).pathname;

export interface TracedRun extends Disposable {
  /** CLOCK_MONOTONIC in ns directly before the tracer was spawned. */
  readonly spawned_ns: bigint;
  readonly runDir: string;
  /** capture/facts.json. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Rows of a query in which `{stream}` stands for the segments of that stream. */
  query(sql: string): Promise<Record<string, unknown>[]>;
}

/**
 * `mrm-trace run ARGS -- COMMAND` into a folder that is removed on disposal.
 * @throws Error when the run fails
 */
export async function tracedRun(args: readonly string[], command: readonly string[]): Promise<TracedRun> {
  const output = mkdtempSync(join(tmpdir(), "mrm-bench-run-"));
  const remove = (): void => rmSync(output, { recursive: true, force: true });
  const argv = [process.execPath, CLI, "run", "--quiet", "--output", output, ...args, "--", ...command];
  const spawned_ns = monotonicNs();
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const stderr = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) {
    remove();
    throw new Error(`mrm-trace ${argv.slice(2).join(" ")} ended with ${child.exitCode}: ${stderr.slice(-2000)}`);
  }
  const runDir = onlyRun(output);
  const facts = JSON.parse(readFileSync(join(runDir, "capture", "facts.json"), "utf8"));
  return {
    spawned_ns,
    runDir,
    facts,
    async query(sql) {
      await using database = await openDatabase();
      const filled = sql.replace(
        /\{(\w+)\}/g,
        (_, stream: string) => `read_parquet(${quote(join(runDir, "capture", stream, "*.parquet"))})`,
      );
      return await database.rows(filled);
    },
    [Symbol.dispose]: remove,
  };
}

/** OUTPUT/MODEL/RUN: the one run below an output folder. */
function onlyRun(output: string): string {
  for (const model of readdirSync(output)) {
    for (const run of readdirSync(join(output, model))) {
      const path = join(output, model, run);
      if (existsSync(join(path, "capture"))) return path;
    }
  }
  throw new Error(`no run below ${output}`);
}
