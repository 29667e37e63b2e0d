/** What the page's own script draws, as JSON in the page: columns of numbers, so that thousands of regions stay small. */

/** Regions of the address space: one entry per region and lifetime in every column. */
export interface RegionColumns {
  /** Index into `classes`. */
  readonly class: readonly number[];
  /** Tensor, file or kind of mapping. */
  readonly name: readonly string[];
  readonly layer: readonly (number | null)[];
  /** First byte, as hexadecimal digits. */
  readonly addr: readonly string[];
  readonly size_bytes: readonly number[];
  /** In memory at the look that found most of all regions; null where that did not see it, and where nobody looked. */
  readonly resident_bytes: readonly (number | null)[];
  /** ms since the run began; a region that was there before has what it was first seen at. */
  readonly birth_ms: readonly number[];
  readonly death_ms: readonly number[];
  readonly access_rows: readonly number[];
  readonly pid: readonly number[];
  /** What the label rests on. */
  readonly evidence: readonly string[];
  /** First row of the map of addresses that the region covers, and how many; null where it is not on the map. */
  readonly map_row: readonly (number | null)[];
  readonly map_rows: readonly (number | null)[];
}

/** The target over time: one entry per point in every column. */
export interface TimelineColumns {
  readonly time_ms: readonly number[];
  readonly rss_anon_bytes: readonly number[];
  readonly rss_file_bytes: readonly number[];
  readonly rss_shmem_bytes: readonly number[];
  /** Since the point before. */
  readonly minor_faults: readonly number[];
  readonly major_faults: readonly number[];
  readonly token_index: readonly (number | null)[];
}

/** What the engine was busy with, from one time to another. */
export interface PhaseSpan {
  readonly phase: string;
  readonly step: string | null;
  readonly begin_ms: number;
  readonly end_ms: number;
}

/** Requests of our own client, in order of time: one entry per request in every column; null for what is not known. */
export interface RequestColumns {
  /** Later ones, which the page leaves out. */
  readonly left_out: number;
  readonly id: readonly number[];
  readonly status: readonly string[];
  /** Lanes in which none lies upon another. */
  readonly lane: readonly number[];
  /** ms since the run began. */
  readonly sent_ms: readonly number[];
  /** From sending it: to its first batch, and to its first token. */
  readonly wait_ms: readonly (number | null)[];
  readonly ttft_ms: readonly (number | null)[];
  /** From its first token to its last. */
  readonly generation_ms: readonly (number | null)[];
  /** From one token to the next. */
  readonly gap_p50_ms: readonly (number | null)[];
  readonly gap_p99_ms: readonly (number | null)[];
  readonly prompt_tokens: readonly (number | null)[];
  readonly reused_tokens: readonly (number | null)[];
  readonly output_tokens: readonly (number | null)[];
  readonly kv_bytes: readonly (number | null)[];
  /** How long what it wrote into the cache was needed, the longest. */
  readonly retention_ms: readonly (number | null)[];
}

/** A class of data as a band of the map: so many rows from `row` on. */
export interface Band {
  readonly class: number;
  readonly row: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Accesses by time and address. Cells are sparse: base64 of little-endian arrays, one element per cell in each. */
export interface HeatMap {
  readonly columns: number;
  readonly rows: number;
  readonly bands: readonly Band[];
  /** Columns and rows that a cell covers in either direction: a power of two, 1 where all cells found room. */
  readonly cell_size: number;
  readonly cells: number;
  /** uint16 each, in cells: from the left, and from the top. */
  readonly column: string;
  readonly row: string;
  /** float32 each: rows of the trace that read, and that wrote. */
  readonly reads: string;
  readonly writes: string;
  /** What was watched, used or not: float32 each, columns and rows from the corner and across. */
  readonly looks: {
    readonly looks: number;
    readonly column: string;
    readonly row: string;
    readonly width: string;
    readonly height: string;
  };
  /** Rows of the trace that lie in no region of the map. */
  readonly elsewhere: number;
}

/** One curve of one class, a point per entry of every column. */
export interface CurveColumns {
  /** Name in the table `curves` of docs/columns.md, and how its points are drawn. */
  readonly curve: string;
  readonly shape: string;
  /** Class as the tables of the run name it. */
  readonly class: string;
  readonly step: string;
  readonly source: string;
  readonly method: string;
  readonly status: string;
  readonly why: string | null;
  readonly x_unit: string;
  readonly y_unit: string;
  /** Null where the curve cannot be drawn at a point. */
  readonly x: readonly (number | null)[];
  readonly x_end: readonly (number | null)[];
  readonly y: readonly (number | null)[];
  readonly ci_low: readonly (number | null)[];
  readonly ci_high: readonly (number | null)[];
  readonly n: readonly number[];
  readonly n_censored: readonly number[];
  readonly name: readonly (string | null)[];
}

/** Data, or why there is none, for people. */
export type Maybe<T> = { readonly data: T } | { readonly why: string };

export interface RunData {
  /** How the page names the run. */
  readonly name: string;
  readonly duration_ms: number;
  readonly classes: readonly string[];
  /** The most of each class in memory at one moment; null where nothing tells. */
  readonly class_bytes: readonly (number | null)[];
  /** True for a class of which that was read, false where it is no more than an upper end. */
  readonly class_bytes_read: readonly boolean[];
  readonly regions: Maybe<RegionColumns>;
  /** Regions that the page leaves out, smallest first. */
  readonly regions_left_out: number;
  readonly timeline: Maybe<TimelineColumns>;
  readonly phases: readonly PhaseSpan[];
  /** Null where the run had no client of ours. */
  readonly requests: RequestColumns | null;
  readonly heat: Maybe<HeatMap>;
  readonly curves: Maybe<readonly CurveColumns[]>;
  /** Time from one token to the next, as the engine counts; null where nobody knows. */
  readonly token_ns: number | null;
}

/** The least and the most that a figure can be; null where that end is not known. */
export type Ends = readonly [least: number | null, most: number | null];

/** Where a memory device ends on the plot of lifetimes and reads; null where its file does not say what that takes. */
export interface DeviceBorder {
  /** As `what-if --device` takes it. */
  readonly preset: string;
  readonly name: string;
  /** Data that lives shorter is gone before the device forgets it. */
  readonly retention_ns: Ends | null;
  /** How often in a second each byte can be read where the device is full. */
  readonly reads_per_s: Ends | null;
  /** Figures that its file does not say, in words. */
  readonly missing: readonly string[];
  /** Who says the figures that the borders are made of. */
  readonly sources: readonly string[];
}

export interface PageData {
  readonly runs: readonly RunData[];
  /** None where no run has a point to be drawn among them. */
  readonly devices: readonly DeviceBorder[];
}
