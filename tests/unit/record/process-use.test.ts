import { describe, expect, test } from "bun:test";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { createProcessUse } from "../../../src/record/process-use.ts";
import { type Given, rowWith } from "../../fixtures/row-with.ts";

const sample = (pid: number, role: Given<"process">["role"] & string, at_s: number, given: Given<"process">) =>
  rowWith("process", { pid, role, timestamp_ns: BigInt(at_s * 1e9), threads: 1, ...given });

describe("the use of processes", () => {
  test("is nothing before the first sample", () => {
    const { target, tracer, mem_available_bytes } = createProcessUse();
    const nothing = {
      peak_rss_bytes: 0,
      cpu_ns: 0,
      run_delay_ns: null,
      waiter_cpu_ns: null,
      peak_threads: 0,
      window_ns: 0,
    };
    expect([target, tracer, mem_available_bytes]).toEqual([nothing, nothing, null]);
  });

  test("is the peak of each process and the CPU time between its samples, summed by role", () => {
    const use = createProcessUse();
    use.take(
      batchFromRows("process", [
        sample(1, "target", 1, { rss_bytes: 100n, cpu_user_ns: 50n, cpu_system_ns: 5n, threads: 3 }),
        sample(2, "target", 2, { rss_bytes: 10n, cpu_user_ns: 7n }),
        sample(9, "tracer", 1, { rss_bytes: 1000n, cpu_user_ns: 400n }),
      ]),
    );
    use.take(
      batchFromRows("process", [
        sample(1, "target", 3, { rss_bytes: 60n, cpu_user_ns: 80n, cpu_system_ns: 9n, threads: 2 }),
        sample(2, "target", 4, { rss_bytes: 20n, cpu_user_ns: 17n, threads: 4 }),
        sample(9, "tracer", 2, { rss_bytes: 900n, cpu_user_ns: 450n }),
      ]),
    );
    const unread = { run_delay_ns: null, waiter_cpu_ns: null };
    expect(use.target).toEqual({ ...unread, peak_rss_bytes: 120, cpu_ns: 34 + 10, peak_threads: 7, window_ns: 3e9 });
    expect(use.tracer).toEqual({ ...unread, peak_rss_bytes: 1000, cpu_ns: 50, peak_threads: 1, window_ns: 1e9 });
  });

  test("has the waiting of all processes and the work of the machine between first and last reading", () => {
    const use = createProcessUse();
    const at = (at_s: number, first: bigint | null, second: bigint | null, machine_busy_ns: bigint | null) =>
      batchFromRows("process", [
        sample(1, "target", at_s, { run_delay_ns: first, machine_busy_ns }),
        sample(2, "target", at_s, { run_delay_ns: second, machine_busy_ns }),
      ]);
    use.take(at(1, 100n, 7n, 5000n));
    expect([use.target.run_delay_ns, use.machine_busy_ns]).toEqual([null, null]);
    use.take(at(2, null, null, null));
    use.take(at(3, 150n, 9n, 5800n));
    use.take(at(4, 170n, null, 6000n));
    expect([use.target.run_delay_ns, use.machine_busy_ns]).toEqual([70 + 2, 1000]);
  });

  test("has the CPU time of the threads that waited, each process by its share of the waiting", () => {
    const use = createProcessUse();
    const at = (at_s: number, delays: readonly [bigint, bigint], cpu: readonly [bigint, bigint]) =>
      batchFromRows("process", [
        sample(1, "target", at_s, { run_delay_ns: delays[0], waiter_cpu_ns: cpu[0] }),
        sample(2, "target", at_s, { run_delay_ns: delays[1], waiter_cpu_ns: cpu[1] }),
      ]);
    use.take(at(1, [100n, 7n], [0n, 0n]));
    expect(use.target.waiter_cpu_ns).toBeNull();
    use.take(at(2, [160n, 47n], [1000n, 50n]));
    expect(use.target.waiter_cpu_ns).toBe((60 * 1000 + 40 * 50) / 100);
  });

  test("has the memory that was available first, where the machine says it", () => {
    const use = createProcessUse();
    use.take(batchFromRows("process", [sample(1, "target", 1, {})]));
    expect(use.mem_available_bytes).toBeNull();
    use.take(batchFromRows("process", [sample(1, "target", 2, { mem_available_bytes: 500n })]));
    use.take(batchFromRows("process", [sample(1, "target", 3, { mem_available_bytes: 300n })]));
    expect(use.mem_available_bytes).toBe(500);
  });
});
