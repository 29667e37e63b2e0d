/** Keys of the Python package's experiment file that are options of a run here, under other names. */
import { valueAt } from "./problem.ts";
import { MEMRAY_OPTIONS, type RunOptions } from "./schema.ts";

/** An option of `run` that one or several keys give. */
export interface PythonOption {
  readonly name: keyof RunOptions;
  readonly value: unknown;
  /** The first of those keys. */
  readonly path: readonly string[];
}

const COLLECTORS: Readonly<Record<string, string>> = {
  ebpf: "ebpf",
  perf_mem: "perf-mem",
  memray: "memray",
  process_monitor: "process",
};

/** What perf calls the memory events of processors: `perf mem` records all of them at once. */
const MEMORY_EVENT = /mem-loads|mem-stores|ibs_op|arm_spe/;

interface Translation {
  readonly name: keyof RunOptions;
  readonly section: readonly string[];
  readonly keys: readonly string[];
  /** The option, of the values of `keys`; undefined for a key that is not given. */
  readonly of: (...values: readonly unknown[]) => unknown;
}

const TRANSLATIONS: readonly Translation[] = [
  { name: "output", section: ["output"], keys: ["base_dir"], of: (folder) => folder },
  { name: "collector", section: ["collector"], keys: ["primary"], of: (primary) => [COLLECTORS[String(primary)]] },
  {
    name: "perf",
    section: ["collector", "perf_mem"],
    keys: ["events", "sample_period", "ldlat_threshold"],
    of(events, period, ldlat) {
      const named = Array.isArray(events) ? events.map(String) : ["mem"];
      const words = new Set(named.map((event) => (MEMORY_EVENT.test(event) ? "mem" : event)));
      if (period !== undefined) words.add(`period=${String(period)}`);
      if (ldlat !== undefined && words.has("mem")) words.add(`ldlat=${String(ldlat)}`);
      return [...words];
    },
  },
  {
    name: "memray",
    section: ["collector", "memray"],
    keys: ["native_traces", "follow_fork"],
    of(native = false, followFork = true) {
      const chosen: Record<string, unknown> = { native, "follow-fork": followFork };
      return MEMRAY_OPTIONS.filter((name) => chosen[name] === true);
    },
  },
];

/** The options that a file gives by these keys. @param file the value of a whole file, valid by its schema */
export function pythonOptions(file: unknown): PythonOption[] {
  return TRANSLATIONS.flatMap(({ name, section, keys, of: optionOf }) => {
    const paths = keys.map((key) => [...section, key]);
    const values = paths.map((path) => valueAt(file, path));
    const path = paths.find((_, i) => values[i] !== undefined);
    return path === undefined ? [] : [{ name, value: optionOf(...values), path }];
  });
}
