/** The collectors of a run by their names: those that were asked for, and `process` beside them. */
import type { CollectorName, MemrayOption } from "../config/schema.ts";
import type { Collector } from "./collector.ts";
import { createEbpfCollector, type EbpfCollector } from "./ebpf/ebpf.ts";
import { createMemrayCollector } from "./memray/memray.ts";
import { createPerfMemCollector } from "./perf-mem/perf-mem.ts";
import { createProcessCollector, type ProcessCollector } from "./process/process-collector.ts";

export interface CollectorSettings {
  readonly budgetPct: number;
  readonly watchRegisters: number;
  /** Names of --source. */
  readonly sources: readonly string[];
  /** Samples of the timer per second and CPU, for the source clock. */
  readonly clockHz: number;
  readonly seed: number;
  /** Shared objects of an engine that are known before the target starts. */
  readonly engineObjects: readonly string[];
  /** Folder for the files of outside tools; made by the collector that needs it. */
  readonly rawDir: string;
  /** What eBPF records beside mappings. */
  readonly ebpf: readonly string[];
  /** What memray is told to record. */
  readonly memray: readonly MemrayOption[];
  /** What perf is told to record. */
  readonly perfMem: readonly string[];
}

export interface Collectors {
  /** In the order in which they start; `process` last. */
  readonly all: readonly Collector[];
  readonly ebpf: EbpfCollector | null;
  readonly process: ProcessCollector;
}

/** Collectors that only their common interface is needed of, by name. */
const OTHERS: Partial<Record<CollectorName, (settings: CollectorSettings) => Collector>> = {
  memray: ({ rawDir, memray }) => createMemrayCollector({ rawDir, record: memray }),
  "perf-mem": ({ perfMem, rawDir }) => createPerfMemCollector({ words: perfMem, rawDir }),
};

/** Creates each named collector once; nothing is attached. */
export function createCollectors(names: readonly CollectorName[], settings: CollectorSettings): Collectors {
  const ebpf = names.includes("ebpf") ? createEbpfCollector({ ...settings, parts: settings.ebpf }) : null;
  const process = createProcessCollector();
  const others = [...new Set(names)].flatMap((name) => OTHERS[name]?.(settings) ?? []);
  return { all: [...(ebpf === null ? [] : [ebpf]), ...others, process], ebpf, process };
}
