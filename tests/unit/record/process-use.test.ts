import { describe, expect, test } from "bun:test";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { createProcessUse } from "../../../src/record/process-use.ts";

const sample = (pid: number, role: string, at_s: number, of: Readonly<Record<string, number>>) => ({
  pid,
  role,
  timestamp_ns: BigInt(at_s * 1e9),
  rss_bytes: 0,
  cpu_user_ns: 0,
  cpu_system_ns: 0,
  threads: 1,
  ...of,
});

describe("the use of processes", () => {
  test("is nothing before the first sample", () => {
    const { target, tracer, mem_available_bytes } = createProcessUse();
    const nothing = { peak_rss_bytes: 0, cpu_ns: 0, peak_threads: 0, window_ns: 0 };
    expect([target, tracer, mem_available_bytes]).toEqual([nothing, nothing, null]);
  });

  test("is the peak of each process and the CPU time between its samples, summed by role", () => {
    const use = createProcessUse();
    use.take(
      batchFromRows("process", [
        sample(1, "target", 1, { rss_bytes: 100, cpu_user_ns: 50, cpu_system_ns: 5, threads: 3 }),
        sample(2, "target", 2, { rss_bytes: 10, cpu_user_ns: 7 }),
        sample(9, "tracer", 1, { rss_bytes: 1000, cpu_user_ns: 400 }),
      ]),
    );
    use.take(
      batchFromRows("process", [
        sample(1, "target", 3, { rss_bytes: 60, cpu_user_ns: 80, cpu_system_ns: 9, threads: 2 }),
        sample(2, "target", 4, { rss_bytes: 20, cpu_user_ns: 17, threads: 4 }),
        sample(9, "tracer", 2, { rss_bytes: 900, cpu_user_ns: 450 }),
      ]),
    );
    expect(use.target).toEqual({ peak_rss_bytes: 120, cpu_ns: 34 + 10, peak_threads: 7, window_ns: 3e9 });
    expect(use.tracer).toEqual({ peak_rss_bytes: 1000, cpu_ns: 50, peak_threads: 1, window_ns: 1e9 });
  });

  test("has the memory that was available first, where the machine says it", () => {
    const use = createProcessUse();
    use.take(batchFromRows("process", [sample(1, "target", 1, {})]));
    expect(use.mem_available_bytes).toBeNull();
    use.take(batchFromRows("process", [sample(1, "target", 2, { mem_available_bytes: 500 })]));
    use.take(batchFromRows("process", [sample(1, "target", 3, { mem_available_bytes: 300 })]));
    expect(use.mem_available_bytes).toBe(500);
  });
});
