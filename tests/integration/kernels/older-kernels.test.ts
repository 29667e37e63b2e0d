import { expect, test } from "bun:test";
import type { MemoryRoom } from "../../../src/overhead/memory-room.ts";
import { type GuestRun, olderKernels, runGuest } from "../../fixtures/kernels/guest.ts";

const kernels = olderKernels();
if (!kernels.ok) process.stderr.write(`skipped: no older kernel can be booted: ${kernels.why}\n`);
else if (kernels.kernels.length < 2) {
  process.stderr.write(`only these older kernels can be booted: ${kernels.kernels.map((k) => k.series).join(", ")}\n`);
}

/** Programs that a kernel series refuses, and what we do there instead. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  // bpf_cast_to_kern_ctx came with 6.2; sample_by_copy is its stand-in.
  "6.1": ["samples/sample_in_place", "samples/sample_in_place/inside"],
  "6.12": [],
};

/** What control groups of version 2 leave of the guest's memory: of 400 MiB and 300 MiB what is not in use by now. */
function expectRoom({ traced }: GuestRun): void {
  const MIB = 2 ** 20;
  const { limited, marked, free } = traced.get("room") as Record<"limited" | "marked", MemoryRoom> & { free: string };
  expect([limited.set_by, marked.set_by, free]).toEqual([
    "memory.max of /sys/fs/cgroup/job",
    "memory.high of /sys/fs/cgroup/job/part",
    "MemAvailable of /proc/meminfo",
  ]);
  for (const [bytes, limit] of [
    [limited.bytes, 400 * MIB],
    [marked.bytes, 300 * MIB],
  ] as const) {
    expect(bytes).toBeLessThanOrEqual(limit);
    expect(bytes).toBeGreaterThan(limit - 100 * MIB);
  }
}

/** At once: each has one CPU. */
async function guests(): Promise<Map<string, GuestRun>> {
  if (!kernels.ok) return new Map();
  return new Map(
    await Promise.all(kernels.kernels.map(async (kernel) => [kernel.series, await runGuest(kernel)] as const)),
  );
}

const numbers = (value: unknown): number[] => (Array.isArray(value) ? value.map(Number) : [Number.NaN]);

/** What the tracer itself did there: a storm, then an attach to a process that walks an array, and watches on that. */
function expectTraced(series: string, { traced, console: text }: GuestRun): void {
  expect(traced.get("error"), text.slice(-2000)).toBeUndefined();
  expect(traced.get("storm")).toMatchObject({ differences: [], ended: true, exitCode: 0, balanced: true });
  expect(Math.min(...numbers(traced.get("storm")?.calls))).toBeGreaterThan(50);
  const watch = traced.get("watch");
  // Before Linux 6.10 every trap counts against what a register is let go for, and none can be held.
  const held = { countsEveryTrap: series === "6.1", keepsRegisters: series !== "6.1" };
  expect(watch).toMatchObject({ ...held, measured: true, ended: true, unbalanced: [] });
  expect(watch?.armings).toBeGreaterThan(2);
  expect(watch?.accesses).toBeGreaterThan(0);
  expect(watch?.inArray).toBeGreaterThan(0);
  expect(watch?.endings).toMatchObject({ trap_limit: expect.any(Number) });
  // One watch in eight has a higher limit; whether one of those is among them is chance.
  const limits = numbers(watch?.limits);
  const full = numbers(watch?.hits).filter((hits, i) => hits === limits[i]);
  expect(full.length).toBeGreaterThan(0);
  for (const [i, hits] of numbers(watch?.hits).entries()) expect(hits).toBeLessThanOrEqual(limits[i] ?? 0);
}

test.skipIf(!kernels.ok)(
  "every program loads on older kernels, and samples are read, judged and counted there, in a container too",
  async () => {
    for (const [series, guest] of await guests()) {
      expect(guest.complete, `the guest with ${series} did not come to its end:\n${guest.console.slice(-2000)}`).toBe(
        true,
      );
      expect(guest.release.startsWith(`${series}.`)).toBe(true);
      expect(new Set(guest.loaded.map(({ object }) => object)).size).toBeGreaterThanOrEqual(6);
      const refused = guest.loaded.filter(({ ok }) => !ok).map(({ object, program }) => `${object}/${program}`);
      const whys = guest.loaded.filter(({ ok }) => !ok).map(({ program, why }) => `${program}: ${why}`);
      expect(refused, whys.join("\n")).toEqual([...(REFUSED[series] ?? [])]);

      const { locate_pids: numbers, ...samples } = Object.fromEntries(guest.runs);
      expect(numbers).toEqual({ level: 1, pid: 1, own_pid: 1 });
      expectTraced(series, guest);
      expectRoom(guest);

      const programs = ["sample_by_copy", "sample_in_place"]
        .flatMap((name) => [name, `${name}/inside`])
        .filter((name) => !refused.includes(`samples/${name}`));
      expect(Object.keys(samples).sort()).toEqual(programs);
      for (const counts of Object.values(samples)) {
        const of = (name: string): number => counts[name] ?? Number.NaN;
        // A timer's sample has no address: it is counted, and never taken for an access.
        expect(of("timer_runs")).toBeGreaterThan(500);
        expect(of("timer_period")).toBe(of("timer_runs") * 100_000);
        expect(of("timer_not_memory")).toBeGreaterThan(of("timer_runs") / 2);
        expect(of("timer_unreadable")).toBe(0);
        // Five times faster than allowed: a tick's worth of samples, then the one that is throttled.
        expect(of("timer_throttled")).toBeGreaterThan(of("timer_runs") / 16);
        expect(of("timer_throttled")).toBeLessThan(of("timer_runs") / 4);
        // It asks for five times the rate: most of the time it stands still, as long as ticks are.
        expect(of("timer_stopped_ns")).toBeGreaterThan(of("timer_period"));
        expect(of("timer_stopped_ns")).toBeLessThanOrEqual(of("timer_throttled") * 10_000_000);
        // A page fault's sample has an address, and every one becomes a row.
        expect(of("fault_runs")).toBeGreaterThanOrEqual(of("pages"));
        expect(of("fault_not_memory") + of("fault_kernel") + of("fault_foreign")).toBe(0);
        expect(of("rows")).toBe(of("fault_runs"));
      }
    }
  },
  200_000,
);
