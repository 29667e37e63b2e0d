/** The perf-mem collector: the system's perf, its real file, read while it grows. */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { createCodeMap } from "../../code/code-bytes.ts";
import type { Batch } from "../../columnar/batch.ts";
import { MrmTraceError } from "../../errors.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { CAPABILITY, capabilitiesPassedOn, FOR_USERS, has } from "../../target/capabilities.ts";
import { descendants, hasEnded, listsChildren } from "../../target/tree.ts";
import type { Capability, Collector, CollectorCost } from "../collector.ts";
import { createBreakpoints } from "./breakpoints.ts";
import { count, ledgerOf } from "./file/account.ts";
import { sourcesOf, stoppedTimes } from "./import-data.ts";
import { hasMemoryPmu, PERF_MEM_HINT, type PerfMemOptions, perfCommand, perfMemOptions } from "./perf-command.ts";
import { type PerfProcess, startPerf } from "./perf-process.ts";
import { openPerfTail, type PerfTail } from "./tail.ts";
import { createTimerSink } from "./timer-sink.ts";

/** Read at one poll: about 20,000 samples, a few milliseconds. */
const POLL_BYTES = 1 << 20;
/** Code that is mapped for a shorter time may not be decoded. */
const LEARN_NS = 200_000_000n;
/** What one event costs its thread with perf, ns: measured on virtual machines, where a trap and a timer are slow. */
const COSTS = {
  "page-faults": { value: 260, lo: 100, hi: 400 },
  "cpu-clock": { value: 20_000, lo: 3000, hi: 35_000 },
  breakpoint: { value: 14_000, lo: 1000, hi: 22_000 },
  mem: { value: 2000, lo: 500, hi: 10_000 },
} as const;

function program(name: string): string | null {
  return Bun.which(name);
}

function canRunHere(options: PerfMemOptions | string): Capability {
  if (typeof options === "string") {
    return {
      ok: false,
      isUsage: true,
      reason: `--perf: ${options}`,
      hint: PERF_MEM_HINT,
    };
  }
  const { events } = options;
  if (program("perf") === null || program("setpriv") === null) {
    const missing = program("perf") === null ? "perf" : "setpriv";
    return { ok: false, reason: `${missing} is not installed`, hint: "apt-get install linux-perf util-linux" };
  }
  if (process.getuid?.() !== 0 && !has(capabilitiesPassedOn(), CAPABILITY.perfmon)) {
    return {
      ok: false,
      reason: `CAP_PERFMON: missing: perf, which uid ${process.getuid?.()} starts, would not have it`,
      hint: FOR_USERS,
    };
  }
  const mem = events.includes("mem");
  if (mem && !hasMemoryPmu()) {
    return {
      ok: false,
      reason: "perf mem cannot run: no PMU here has memory events",
      hint: "use what works here: --perf page-faults, --perf cpu-clock or --perf mem:0xADDRESS/8:rw",
    };
  }
  const sources = events.flatMap((event) =>
    event === "cpu-clock" ? ["clock"] : event.startsWith("mem:") ? ["watch"] : [],
  );
  const sampled = mem ? ["pebs", "ibs"] : [...new Set(sources)];
  return {
    ok: true,
    sources: mem ? ["perf mem"] : [...events],
    whyNotBetter: mem || hasMemoryPmu() ? "" : "no PMU here: perf has software events only",
    identifies: sampled,
    blindTo: mem
      ? "perf's samples show single accesses, no births, deaths or whole histories"
      : `perf recorded ${events.join(" and ")} alone: no births and deaths, and no history of reads and writes`,
  };
}

/** @param words events and settings for perf, see `perfMemOptions` */
export function createPerfMemCollector({
  words,
  rawDir,
}: {
  readonly words: readonly string[];
  readonly rawDir: string;
}): Collector {
  const options = perfMemOptions(words);
  let perf: PerfProcess | null = null;
  let tail: PerfTail | null = null;
  let started: number | null = null;
  let root: number | null = null;
  let byThread = false;
  let nextLearn_ns = 0n;
  const code = createCodeMap(() => performance.now() * 1e6);
  const breakpoints = createBreakpoints();
  const warnings: string[] = [];
  let counts: Readonly<Record<keyof typeof COSTS, number>> = {
    "page-faults": 0,
    "cpu-clock": 0,
    breakpoint: 0,
    mem: 0,
  };

  function looked(batches: readonly Batch[]): Batch[] {
    for (const batch of batches) breakpoints.look(batch);
    return [...batches];
  }

  /** The events of the recording by what they cost. */
  function tally(part: PerfTail): void {
    const { keptFaults, samples } = part.account;
    const uses = new Set(part.events.map(({ use }) => use));
    const rest = samples - keptFaults;
    counts = {
      "page-faults": keptFaults,
      "cpu-clock": uses.has("timer") ? rest : 0,
      breakpoint: uses.has("breakpoint") && !uses.has("timer") ? rest : 0,
      mem: uses.has("access") ? rest : 0,
    };
  }

  /** Code of the tree, while it is there: perf hands small recordings over only when all has ended. */
  function learn(): void {
    const now_ns = monotonicNs();
    if (root === null || !words.includes("cpu-clock") || now_ns < nextLearn_ns) return;
    nextLearn_ns = now_ns + LEARN_NS;
    for (const pid of [root, ...descendants("/proc", [root], byThread)]) code.learn(pid);
  }

  return {
    name: "perf-mem",
    canRun: async () => canRunHere(options),
    async start(target) {
      if (typeof options === "string")
        throw new MrmTraceError("usage", `--perf: ${options}`, "see: mrm-trace run --help");
      const path = join(rawDir, "perf.data");
      mkdirSync(rawDir, { recursive: true, mode: 0o700 });
      // perf keeps the mode of a file that is there.
      closeSync(openSync(path, "w", 0o600));
      root = target.pid;
      byThread = listsChildren("/proc");
      const pids = [...descendants("/proc", [root], byThread)].filter((pid) => pid === root || !hasEnded(pid));
      perf = await startPerf(perfCommand(options, pids, path));
      started = perf.pid;
      try {
        tail = openPerfTail(path, createTimerSink(code));
      } catch (cause) {
        await perf.stop();
        perf = null;
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new MrmTraceError("environment", `what perf writes cannot be read: ${why}`, "check: perf --version", {
          cause,
        });
      }
    },
    batches() {
      if (tail === null) return [];
      learn();
      tail.read(POLL_BYTES);
      return looked(tail.take());
    },
    async stop() {
      if (perf === null || tail === null) return { batches: [], ledger: [] };
      const reading = tail;
      const wrong = await perf.stop();
      perf = null;
      tail = null;
      const broken = reading.finish();
      const batches = looked(reading.take());
      const watches = breakpoints.watches(reading.events);
      if (watches !== null) batches.push(watches);
      tally(reading);
      if (wrong !== null) warnings.push(wrong);
      if (broken !== null) {
        warnings.push(`what perf wrote was read up to byte ${broken.offset}: ${broken.why}`);
        // Nobody knows how many samples it held: one at least.
        count(reading.account.dropped, "cut");
      }
      const { throttles } = reading.account;
      if (throttles > 0) warnings.push(stoppedTimes(throttles));
      const ledger = ledgerOf(reading.account, "perf", sourcesOf(reading.events));
      reading[Symbol.dispose]();
      code[Symbol.dispose]();
      return { batches, ledger };
    },
    account: () => (tail === null ? [] : ledgerOf(tail.account, "perf", sourcesOf(tail.events))),
    helpers: () => (started === null ? [] : [started]),
    warnings: () => warnings,
    costs: (): CollectorCost[] =>
      Object.entries(COSTS).flatMap(([name, each_ns]) => {
        const count = counts[name as keyof typeof COSTS];
        return count === 0 ? [] : [{ what: `perf ${name}`, count, each_ns }];
      }),
  };
}
