import { expect, test } from "bun:test";
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

async function guests(): Promise<Map<string, GuestRun>> {
  const runs = new Map<string, GuestRun>();
  if (!kernels.ok) return runs;
  for (const kernel of kernels.kernels) runs.set(kernel.series, await runGuest(kernel));
  return runs;
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
