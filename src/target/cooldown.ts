/** Tells when memory that had risen is back where it began, and has stayed there. */

export interface Cooldown {
  /** True once it is over. */
  over(rss_bytes: number, now_ns: bigint): boolean;
}

/** The first level is the mean of so many samples. */
const FIRST_SAMPLES = 5;
/** Nearer than this to the first level is back. */
const NEAR = 0.05;

/** @param quietNs how long memory must have been back, in ns */
export function createCooldown(quietNs: number): Cooldown {
  const first: number[] = [];
  let risen = false;
  let backSince_ns: bigint | null = null;
  return {
    over(rss_bytes, now_ns) {
      if (first.length < FIRST_SAMPLES) {
        first.push(rss_bytes);
        return false;
      }
      const level = first.reduce((sum, bytes) => sum + bytes, 0) / FIRST_SAMPLES;
      if (rss_bytes > level * (1 + NEAR)) {
        risen = true;
        backSince_ns = null;
        return false;
      }
      if (!risen) return false;
      backSince_ns ??= now_ns;
      return Number(now_ns - backSince_ns) >= quietNs;
    },
  };
}
