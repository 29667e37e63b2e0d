/** The collectors of a run by their names: those that were asked for, and `process` beside them. */
import type { CollectorName, CommandRecording, MemrayOption } from "../config/schema.ts";
import { createProcessTree, type ProcessTree } from "../target/process-tree.ts";
import type { Collector } from "./collector.ts";
import { createEbpfCollector, type EbpfOptions } from "./ebpf/ebpf.ts";
import { createMemrayCollector } from "./memray/memray.ts";
import { createPerfMemCollector } from "./perf-mem/perf-mem.ts";
import { createProcessCollector } from "./process/process-collector.ts";

/** What the collectors are told: eBPF as its own options say, the others beside. */
export interface CollectorSettings extends Omit<EbpfOptions, "tree"> {
  /** Folder for the files of outside tools; made by the collector that needs it. */
  readonly rawDir: string;
  /** What memray is told to record. */
  readonly memray: readonly MemrayOption[];
  /** What the files of outside tools may keep of the command line. */
  readonly recordCommand: CommandRecording;
  /** What perf is told to record. */
  readonly perfMem: readonly string[];
}

export interface Collectors {
  /** In the order in which they start; `process` last. */
  readonly all: readonly Collector[];
  /** The processes of the target, as far as they are known. */
  readonly tree: ProcessTree;
}

/** How each is made that a user may ask for, in the order in which they start. */
const MAKERS: Record<
  Exclude<CollectorName, "process">,
  (settings: CollectorSettings, tree: ProcessTree) => Collector
> = {
  ebpf: (settings, tree) => createEbpfCollector({ ...settings, tree }),
  memray: ({ rawDir, memray, recordCommand }) => createMemrayCollector({ rawDir, record: memray, recordCommand }),
  "perf-mem": ({ perfMem, rawDir }) => createPerfMemCollector({ words: perfMem, rawDir }),
};

/** Creates each named collector once, and `process` beside them; nothing is attached. */
export function createCollectors(names: readonly CollectorName[], settings: CollectorSettings): Collectors {
  const tree = createProcessTree();
  const asked = Object.entries(MAKERS).flatMap(([name, make]) =>
    names.some((one) => one === name) ? [make(settings, tree)] : [],
  );
  const process = createProcessCollector({
    tree,
    // eBPF sees every process begin and end: nothing is left to be found in /proc.
    searches: !names.includes("ebpf"),
    helpers: () => asked.flatMap((collector) => collector.helpers?.() ?? []),
  });
  return { all: [...asked, process], tree };
}
