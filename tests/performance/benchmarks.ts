/** Every benchmark by the name under which it is asked for. */
import type { BenchOptions, BenchRow } from "./bench-row.ts";

type Benchmark = (options: BenchOptions) => Promise<readonly BenchRow[]>;

/** Loaded when asked for: what one needs must not be in the memory of another. */
export const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  "kernel-record": async (options) => (await import("./kernel-record.bench.ts")).benchKernelRecord(options),
  "ring-to-bun": async (options) => (await import("./ring.bench.ts")).benchRing(options),
  "fault-cost": async (options) => (await import("./fault-cost.bench.ts")).benchFaultCost(options),
  columnar: async () => (await import("./columnar.bench.ts")).benchColumnar(),
  start: async (options) => (await import("./start.bench.ts")).benchStart(options),
  "tracer-memory": async (options) => (await import("./tracer-memory.bench.ts")).benchTracerMemory(options),
  analyse: async () => (await import("./analyse.bench.ts")).benchAnalyse(),
  "report-page": async (options) => (await import("./report-page.bench.ts")).benchReportPage(options),
  "python-package": async (options) => (await import("./python-package.bench.ts")).benchPythonPackage(options),
  "perf-import": async (options) => (await import("./perf-import.bench.ts")).benchPerfImport(options),
  "decode-slowdown": async (options) => (await import("./decode-slowdown.bench.ts")).benchDecodeSlowdown(options),
  "observer-effect": async (options) => (await import("./observer-effect.bench.ts")).benchObserverEffect(options),
  stall: async (options) => (await import("./stall.bench.ts")).benchStall(options),
  "same-events": async (options) => (await import("./same-events.bench.ts")).benchSameEvents(options),
  memray: async (options) => (await import("./memray.bench.ts")).benchMemray(options),
};
