/** The tracer attached to a process that runs, from a benchmark or a test. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { LedgerPlace } from "../../src/schema/ledger.ts";
import { rowsAt } from "../fixtures/ledger.ts";
import { lineReader } from "../fixtures/line-reader.ts";

const CLI = new URL("../../src/cli.ts", import.meta.url).pathname;
/** A tracer that does not end is a failure, not a hang; the tokens of ten minutes take more than one to analyse. */
const END_LIMIT_MS = 300_000;
const INTERRUPTED = 130;

export interface AttachedRun {
  /** CPU of the tracer in % of one CPU while it recorded. */
  readonly cpuPct: number | null;
  readonly decodeTokens: number;
  readonly promptTokens: number;
  /** Accesses to watched addresses. */
  readonly accesses: number;
  /** What the hits of the engine's probes cost the target at most, by what one costs in a loop; ns. */
  readonly probesAtMostNs: number;
}

export interface Attached {
  readonly pid: number;
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
    pid: child.pid,
    async end() {
      child.kill("SIGINT");
      const limit = setTimeout(() => child.kill("SIGKILL"), END_LIMIT_MS);
      const code = await child.exited;
      clearTimeout(limit);
      await rest;
      if (code !== INTERRUPTED) throw new Error(`attach ended with ${child.signalCode ?? code}: ${said}`);
      const { run_dir } = JSON.parse(await stdout) as Report;
      return resultOf(JSON.parse(readFileSync(join(run_dir, "capture", "facts.json"), "utf8")) as Facts);
    },
  };
}

function resultOf({ observer, target, ledger, details }: Facts): AttachedRun {
  const probes = details.cost_parts.find(({ what }) => what === "engine probes");
  if (probes === undefined) throw new Error("the run does not say what its probes cost");
  return {
    cpuPct: observer.cpu_pct ?? null,
    decodeTokens: target.decode_tokens ?? 0,
    promptTokens: target.prompt_tokens ?? 0,
    accesses: Number(rowsAt(ledger, { source: "watch", stage: "decode" })[0]?.kept ?? 0),
    probesAtMostNs: probes.cost_ns.hi,
  };
}

/** What of capture/facts.json is read here. */
interface Facts {
  readonly observer: { readonly cpu_pct?: number | null };
  readonly target: { readonly decode_tokens?: number | null; readonly prompt_tokens?: number | null };
  readonly ledger: readonly (LedgerPlace & { readonly kept: string })[];
  readonly details: {
    readonly cost_parts: readonly { readonly what: string; readonly cost_ns: { readonly hi: number } }[];
  };
}
