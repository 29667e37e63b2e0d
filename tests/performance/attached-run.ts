/** The tracer attached to a process that runs, from a benchmark or a test. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { lineReader } from "./line-reader.ts";

const CLI = new URL("../../src/cli.ts", import.meta.url).pathname;
/** A tracer that does not end is a failure, not a hang. */
const END_LIMIT_MS = 60_000;
const INTERRUPTED = 130;

export interface AttachedRun {
  /** CPU of the tracer in % of one CPU while it recorded. */
  readonly cpuPct: number | null;
  readonly decodeTokens: number;
  readonly promptTokens: number;
}

export interface Attached {
  /** Tells the tracer to end, waits for it, and reads what it says. @throws Error when it failed */
  end(): Promise<AttachedRun>;
}

export interface AttachedOptions {
  /** CPU on which the tracer runs. */
  readonly cpu: string;
  /** Empty folder for its run. */
  readonly output: string;
  readonly args: readonly string[];
}

interface Report {
  readonly run_dir: string;
}

/** `mrm-trace attach PID ARGS`; resolves when it records. @throws Error when it ends before */
export async function attachTo(pid: number, { cpu, output, args }: AttachedOptions): Promise<Attached> {
  const flags = ["--json", "--verbose", "--baseline", "100ms", "--output", output, ...args];
  const child = Bun.spawn(["taskset", "-c", cpu, process.execPath, CLI, "attach", String(pid), ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stdout = new Response(child.stdout).text();
  const nextLine = lineReader(child.stderr);
  let said = "";
  for (let line = await nextLine(); line !== "mrm-trace: recording"; line = await nextLine()) {
    if (line === null) throw new Error(`attach ended with ${await child.exited}: ${said}`);
    said += `${line}\n`;
  }
  const rest = (async () => {
    for (let line = await nextLine(); line !== null; line = await nextLine()) said += `${line}\n`;
  })();
  return {
    async end() {
      child.kill("SIGINT");
      const limit = setTimeout(() => child.kill("SIGKILL"), END_LIMIT_MS);
      const code = await child.exited;
      clearTimeout(limit);
      await rest;
      if (code !== INTERRUPTED) throw new Error(`attach ended with ${child.signalCode ?? code}: ${said}`);
      const { run_dir } = JSON.parse(await stdout) as Report;
      const facts = JSON.parse(readFileSync(join(run_dir, "capture", "facts.json"), "utf8")) as Facts;
      const { decode_tokens, prompt_tokens } = facts.target;
      return {
        cpuPct: facts.observer.cpu_pct ?? null,
        decodeTokens: decode_tokens ?? 0,
        promptTokens: prompt_tokens ?? 0,
      };
    },
  };
}

interface Facts {
  readonly observer: { readonly cpu_pct?: number | null };
  readonly target: { readonly decode_tokens?: number | null; readonly prompt_tokens?: number | null };
}
