/** THE list of plots: which curves each draws, its axes, and what it means to who reads it. */

export interface PlotKind {
  readonly key: string;
  readonly title: string;
  readonly about: string;
  /** Curves of docs/columns.md. */
  readonly curves: readonly string[];
  readonly x: { readonly label: string; readonly log: boolean };
  /** A share is drawn from 0 to 1. */
  readonly y: { readonly label: string; readonly log: boolean; readonly share?: boolean };
  /** True where x is one of a few: each point stands by itself, those of the classes side by side. */
  readonly isDiscrete?: boolean;
  /** A line where one token period lies. */
  readonly tokenLine?: boolean;
  /** Borders of memory devices. */
  readonly devices?: boolean;
}

export const PLOTS: readonly PlotKind[] = [
  {
    key: "retention",
    title: "How long data is needed",
    about:
      "Share of what was written that is read again later than x. Ticks are data still in use when we stopped looking.",
    curves: ["retention"],
    x: { label: "since the write", log: true },
    y: { label: "still needed", log: false, share: true },
  },
  {
    key: "inter_access_interval",
    title: "Time between accesses",
    about: "Share of the accesses to a byte that another follows within x. The upright line is one token.",
    curves: ["inter_access_interval"],
    x: { label: "until the next access", log: true },
    y: { label: "of the accesses", log: false, share: true },
    tokenLine: true,
  },
  {
    key: "age_at_read",
    title: "Age at read",
    about: "Share of the reads whose data was written longer than x ago. The upright line is one token.",
    curves: ["age_at_read"],
    x: { label: "since the write", log: true },
    y: { label: "of the reads", log: false, share: true },
    tokenLine: true,
  },
  {
    key: "working_set",
    title: "Working set by window",
    about: "Bytes touched within any window of length x. A hatched band is a bound. The upright line is one token.",
    curves: ["working_set"],
    x: { label: "length of the window", log: true },
    y: { label: "touched", log: true },
    tokenLine: true,
  },
  {
    key: "reads_per_write",
    title: "Reads per write",
    about: "Share of the writes whose data is read more often than x times before the next write.",
    curves: ["reads_per_write"],
    x: { label: "reads", log: true },
    y: { label: "of the writes", log: false, share: true },
  },
  {
    key: "write_once",
    title: "Written once, by grain",
    about:
      "Share of written blocks of x bytes that are written once, the classes side by side. A dot is a value with its interval; a dashed line is a bound, open where nothing is known.",
    curves: ["write_once"],
    x: { label: "size of a block", log: true },
    isDiscrete: true,
    y: { label: "written once", log: false, share: true },
  },
  {
    key: "bandwidth",
    title: "Bytes read and written over time",
    about: "Solid is read, dashed is written, each as the mean of a slice of the run. A hatched band is a bound.",
    curves: ["read_rate", "write_rate"],
    x: { label: "of the run", log: false },
    y: { label: "per second", log: true },
  },
  {
    key: "stride",
    title: "Distance of successive accesses",
    about: "Share of the pairs of successive accesses whose addresses lie at most x apart.",
    curves: ["stride"],
    x: { label: "apart", log: true },
    y: { label: "of the pairs", log: false, share: true },
  },
  {
    key: "run_length",
    title: "Length of runs of accesses",
    about:
      "Share of the runs of successive accesses, each at most 64 B beyond the one before, that have at most x accesses.",
    curves: ["run_length"],
    x: { label: "accesses of a run", log: true },
    y: { label: "of the runs", log: false, share: true },
  },
  {
    key: "stores_after_settle",
    title: "Stores after data has settled",
    about:
      "Share of the writes that come later than x after the write before: each would fault in a memory that is read-only once settled.",
    curves: ["stores_after_settle"],
    x: { label: "since the write before", log: true },
    y: { label: "of the writes", log: false, share: true },
  },
  {
    key: "read_rate_by_lifetime",
    title: "Lifetime and reads of each tensor",
    about:
      "To the right lives long, to the top is read often. A hollow mark lived on when we stopped looking; a triangle is a bound and points to where the figure may lie.",
    curves: ["read_rate_by_lifetime"],
    x: { label: "lifetime", log: true },
    y: { label: "reads of each byte", log: true },
    devices: true,
  },
];
