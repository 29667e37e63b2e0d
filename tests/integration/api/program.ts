/** A program that uses the API twice and then says what is left of it in its process; it never calls process.exit. */
import { readdirSync, readlinkSync } from "node:fs";
import { run } from "mrm-trace";

const [output = ""] = process.argv.slice(2);
const options = { output, watch_registers: 0, baseline: "100ms", commandStdout: "stderr" } as const;

/** Descriptors of the kernel's objects of ours; sockets and pipes of the runtime come and go. */
function kernelObjects(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return /bpf|perf_event/.test(target) ? [target] : [];
    } catch {
      return [];
    }
  });
}

const phases = new Set<string>();
const [first, beside] = await Promise.all([
  run({
    ...options,
    command: ["sh", "-c", "seq 1 20000 | sort"],
    onProgress: ({ phase }) => phases.add(phase),
  }),
  run({ ...options, command: ["sh", "-c", "sleep 0.3; seq 1 20000 >/dev/null"] }),
]);
const controller = new AbortController();
const second = await run({
  ...options,
  command: ["sh", "-c", "exec sleep 600"],
  signal: controller.signal,
  onProgress: ({ phase }) => {
    if (phase === "running") setTimeout(() => controller.abort(), 300);
  },
});
const listeners = ["SIGINT", "SIGTERM", "exit", "uncaughtException"].map((name) => process.listenerCount(name));
process.stdout.write(
  `${JSON.stringify({
    first: { runDir: first.runDir, exitCode: first.exitCode, faults: String(first.report.ledger[0]?.seen) },
    beside: {
      exitCode: beside.exitCode,
      shared: first.report.target.pids.filter((pid) => beside.report.target.pids.includes(pid)),
    },
    second: { exitCode: second.exitCode, signal: second.report.target.signal, wall_s: second.report.target.wall_s },
    phases: [...phases],
    listeners,
    objects: kernelObjects(),
    exitCode: process.exitCode ?? null,
  })}\n`,
);
