/** The target over time in few enough points: neighbours are joined when there are too many. */
import type { ProcessPoint } from "./process-readings.ts";

/** Fourteen minutes of readings, 100 ms apart. */
const MOST_POINTS = 8192;

/** Both as one: the most of what is held, the sum of what grew. */
function joined(a: ProcessPoint, b: ProcessPoint): ProcessPoint {
  return {
    time_ns: a.time_ns,
    processes: Math.max(a.processes, b.processes),
    rss_bytes: Math.max(a.rss_bytes, b.rss_bytes),
    rss_anon_bytes: Math.max(a.rss_anon_bytes, b.rss_anon_bytes),
    rss_file_bytes: Math.max(a.rss_file_bytes, b.rss_file_bytes),
    rss_shmem_bytes: Math.max(a.rss_shmem_bytes, b.rss_shmem_bytes),
    pss_bytes:
      a.pss_bytes === null || b.pss_bytes === null ? (a.pss_bytes ?? b.pss_bytes) : Math.max(a.pss_bytes, b.pss_bytes),
    cpu_user_ns: a.cpu_user_ns + b.cpu_user_ns,
    cpu_system_ns: a.cpu_system_ns + b.cpu_system_ns,
    minor_faults: a.minor_faults + b.minor_faults,
    major_faults: a.major_faults + b.major_faults,
  };
}

/** An empty list of points. @param most points that it holds; then pairs are joined, and each takes twice as many */
export function processPoints(most = MOST_POINTS) {
  const all: ProcessPoint[] = [];
  let each = 1;
  let inLast = 0;
  return {
    all,
    /** Adds the next moment. */
    add(point: ProcessPoint): void {
      const last = all.at(-1);
      if (last !== undefined && inLast < each) {
        all[all.length - 1] = joined(last, point);
        inLast += 1;
        return;
      }
      if (all.length === most) {
        for (let i = 0; 2 * i < most; i++) {
          const [a, b] = [all[2 * i], all[2 * i + 1]];
          if (a !== undefined) all[i] = b === undefined ? a : joined(a, b);
        }
        all.length = Math.ceil(most / 2);
        each *= 2;
      }
      all.push(point);
      inLast = 1;
    },
  };
}
