/** Page faults, summed by class of data and span of the run while they are read. */
import type { PlaceIndex } from "../../label/regions/place-index.ts";
import type { RegionFacts, Regions } from "../../label/regions/region-map.ts";
import { FAULT } from "../../schema/shared-numbers.ts";
import type { RegionType } from "../../schema/words.ts";
import type { SpanSlices } from "../input/span-slices.ts";

/** What is counted of faults, in the order of the arrays. */
export const FAULT_KINDS = ["faults", "first_touches", "file_first_touches", "major_faults", "kernel_faults"] as const;
/** The same, and those that were writes: what they fall on is written, whether or not a watch saw it. */
export const FAULT_COUNTS = [...FAULT_KINDS, "write_faults"] as const;
export type FaultCounts = Readonly<Record<(typeof FAULT_COUNTS)[number], number>>;

/** The faults of one class, by position of the span; classes without a name by kind of mapping. */
export interface ClassFaults {
  readonly region_type: RegionType;
  readonly mapping_kind: string | null;
  readonly spans: readonly FaultCounts[];
}

/** Faults on the pages of one file. */
export interface FileFaults {
  readonly file: string;
  readonly first_touches: number;
  readonly major_faults: number;
}

export interface FaultSums {
  readonly rows: number;
  readonly all: readonly FaultCounts[];
  readonly classes: readonly ClassFaults[];
  /** Those with most first touches, most first. */
  readonly files: readonly FileFaults[];
}

/** Faults of one row group: times as ns since the start of the run, addresses exact below 2^53. */
export interface FaultReader {
  take(time_ns: number, pid: number, address: number, flags: number): void;
  end(): FaultSums;
}

const MOST_FILES = 20;
const KINDS = FAULT_COUNTS.length;

/** Number of the class by the facts of a region, from 1, and the classes by number; 0 is for what lies in no region. */
function classNumbers(facts: readonly RegionFacts[]) {
  const classes: { region_type: RegionType; mapping_kind: string | null }[] = [
    { region_type: "unknown", mapping_kind: null },
  ];
  const numbers = new Map<string, number>();
  const ofFacts = new Uint16Array(facts.length + 1);
  facts.forEach(({ region_type, mapping_kind }, i) => {
    const kind = region_type === "unknown" ? mapping_kind : null;
    const key = `${region_type}/${kind ?? ""}`;
    const classNumber =
      numbers.get(key) ?? classes.push({ region_type: region_type as RegionType, mapping_kind: kind }) - 1;
    numbers.set(key, classNumber);
    ofFacts[i + 1] = classNumber;
  });
  return { classes, ofFacts };
}

/** Sums faults one by one; holds a count for each class, slice of time and kind of region, and no row. */
export function faultReader(regions: Regions, index: PlaceIndex, slices: SpanSlices): FaultReader {
  const { facts, what } = regions;
  const { classes, ofFacts } = classNumbers(facts);
  const { spans, spansOf, sliceAt } = slices;
  const n = spansOf.length;
  const isFile = Uint8Array.from([0, ...facts.map(({ mapping_kind }) => (mapping_kind === "file" ? 1 : 0))]);
  const counts = new Float64Array(classes.length * n * KINDS);
  const touched = new Float64Array(facts.length + 1);
  const major = new Float64Array(facts.length + 1);
  let rows = 0;

  function countsOf(from: number, stop: number, span: number): FaultCounts {
    const sums = new Float64Array(KINDS);
    for (let one = from; one < stop; one++) {
      for (let slice = 0; slice < n; slice++) {
        if ((((spansOf[slice] as number) >>> span) & 1) === 0) continue;
        const cell = (one * n + slice) * KINDS;
        for (let kind = 0; kind < KINDS; kind++) sums[kind] = (sums[kind] as number) + (counts[cell + kind] as number);
      }
    }
    return Object.fromEntries(FAULT_COUNTS.map((name, kind) => [name, sums[kind]])) as FaultCounts;
  }

  function files(): FileFaults[] {
    const sums = new Map<string, { first_touches: number; major_faults: number }>();
    facts.forEach(({ file }, i) => {
      const first_touches = touched[i + 1] as number;
      const major_faults = major[i + 1] as number;
      if (file === null || first_touches + major_faults === 0) return;
      const sum = sums.get(file) ?? { first_touches: 0, major_faults: 0 };
      sums.set(file, {
        first_touches: sum.first_touches + first_touches,
        major_faults: sum.major_faults + major_faults,
      });
    });
    return [...sums]
      .map(([file, sum]) => ({ file, ...sum }))
      .sort((a, b) => b.first_touches - a.first_touches || (a.file < b.file ? -1 : 1))
      .slice(0, MOST_FILES);
  }

  return {
    take(time_ns, pid, address, flags) {
      const row = index.find(pid, address, time_ns);
      const place = row < 0 ? 0 : (what[row] as number) + 1;
      const word = ((ofFacts[place] as number) * n + sliceAt(time_ns)) * KINDS;
      rows += 1;
      if (flags & FAULT.major_done) {
        counts[word + 3] = (counts[word + 3] as number) + 1;
        major[place] = (major[place] as number) + 1;
        return;
      }
      counts[word] = (counts[word] as number) + 1;
      if ((flags & FAULT.user) === 0) counts[word + 4] = (counts[word + 4] as number) + 1;
      if (flags & FAULT.write) counts[word + 5] = (counts[word + 5] as number) + 1;
      if (flags & FAULT.protection) return;
      counts[word + 1] = (counts[word + 1] as number) + 1;
      counts[word + 2] = (counts[word + 2] as number) + (isFile[place] as number);
      touched[place] = (touched[place] as number) + 1;
    },
    end: () => ({
      rows,
      all: spans.map((_, s) => countsOf(0, classes.length, s)),
      classes: classes
        .map((one, c) => ({ ...one, spans: spans.map((_, s) => countsOf(c, c + 1, s)) }))
        .filter(({ spans: counted }) => counted.some(({ faults, major_faults }) => faults + major_faults > 0)),
      files: files(),
    }),
  };
}
