/** Counts the regions of each class by a trace's own numbering. */
import { CLASSES, classOf } from "./trace-columns.ts";

/** A byte for each region: numbering begins at 0, and what has more is counted by the SQL engine. */
const MOST_REGIONS = 1 << 24;

export interface RegionCounter {
  /**
   * @param words region of each row, two words where they are wide
   * @param valid 0 for rows without a region; null where all have one
   * @param code of each row, without its thread
   * @throws Error for a region beyond 2^24
   */
  add(words: Uint32Array, wide: boolean, valid: Uint8Array | null, code: Uint32Array, rows: number): void;
  /** Regions by the name of their class. */
  counts(): ReadonlyMap<string, number>;
}

export function regionCounter(): RegionCounter {
  /** One bit for each class. */
  let classes = new Uint8Array(1 << 12);
  return {
    add(words, wide, valid, code, rows) {
      for (let row = 0; row < rows; row++) {
        if (valid !== null && valid[row] === 0) continue;
        const region = words[wide ? 2 * row : row] as number;
        if (region >= MOST_REGIONS || (wide && words[2 * row + 1] !== 0)) throw new Error(`region ${region}`);
        if (region >= classes.length) {
          const larger = new Uint8Array(2 ** Math.ceil(Math.log2(region + 1)));
          larger.set(classes);
          classes = larger;
        }
        classes[region] = (classes[region] as number) | (1 << classOf(code[row] as number));
      }
    },
    counts() {
      const counts = new Uint32Array(CLASSES.length);
      for (let region = 0; region < classes.length; region++) {
        const bits = classes[region] as number;
        if (bits === 0) continue;
        for (let kind = 0; kind < counts.length; kind++) {
          counts[kind] = (counts[kind] as number) + ((bits >>> kind) & 1);
        }
      }
      return new Map(CLASSES.map((name, kind) => [name, counts[kind] ?? 0] as const).filter(([, count]) => count > 0));
    },
  };
}
