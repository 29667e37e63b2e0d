/** Analyses a trace in a process of its own, which holds nothing else: `bun analyse-trace.ts TRACE FOLDER`. */
import { readFileSync } from "node:fs";
import { analyse } from "../../src/analyse.ts";

export interface AnalysedTrace {
  readonly seconds: number;
  readonly cpu_s: number;
  readonly peak_rss_bytes: number;
  /** Rows of the metrics that say something. */
  readonly figures: number;
}

/** Everything that `mrm-trace analyse` does with a trace: reading, estimating, writing, digests. */
async function analyseHere(trace: string, folder: string): Promise<AnalysedTrace> {
  const before = process.cpuUsage();
  const begin = performance.now();
  const { report } = await analyse(trace, { output: folder, period: 1, force: false, seed: 1 });
  const seconds = (performance.now() - begin) / 1e3;
  const cpu = process.cpuUsage(before);
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return {
    seconds,
    cpu_s: (cpu.user + cpu.system) / 1e6,
    peak_rss_bytes: Number(peak ?? Number.NaN) * 1024,
    figures: report.metrics.filter(({ status }) => status === "ok" || status === "bound").length,
  };
}

const [trace = "", folder = ""] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await analyseHere(trace, folder)));
