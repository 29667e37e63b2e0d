import { expect, test } from "bun:test";
import { processPoints } from "../../../../src/analyse/process/process-points.ts";
import type { ProcessPoint } from "../../../../src/analyse/process/process-readings.ts";

const point = (i: number): ProcessPoint => ({
  time_ns: i,
  processes: 1,
  rss_bytes: (i * 7) % 11,
  rss_anon_bytes: 0,
  rss_file_bytes: 0,
  rss_shmem_bytes: 0,
  pss_bytes: i % 3 === 0 ? i : null,
  cpu_user_ns: i,
  cpu_system_ns: 1,
  minor_faults: 2,
  major_faults: 0,
});

test("points of a run of any length are few, and lose neither a peak nor what grew", () => {
  for (const n of [1, 7, 8, 9, 16, 17, 100, 1000]) {
    const points = processPoints(8);
    for (let i = 0; i < n; i++) points.add(point(i));
    const all = Array.from({ length: n }, (_, i) => point(i));
    const sum = (list: readonly ProcessPoint[]) => list.reduce((total, { cpu_user_ns }) => total + cpu_user_ns, 0);
    const most = (list: readonly ProcessPoint[]) => Math.max(...list.map(({ rss_bytes }) => rss_bytes));
    expect(points.all.length).toBeLessThanOrEqual(8);
    expect([n, sum(points.all), most(points.all)]).toEqual([n, sum(all), most(all)]);
    expect(points.all.map(({ time_ns }) => time_ns)).toEqual(
      points.all.map(({ time_ns }) => time_ns).toSorted((a, b) => a - b),
    );
    expect(points.all[0]?.time_ns).toBe(0);
  }
});
