/** What nobody tells of memory of a device, by the libraries that a process maps: it has no address there, and nothing of it is watched. */
import { libraryBackend } from "../../../engine/llama-cpp/buffer-backend.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";

export interface DeviceLibraries {
  follow(rows: readonly MappingEvent[]): void;
  /** What of it is not known, and why; each once. */
  warnings(): readonly string[];
}

/** PyTorch's part for cards, which is mapped whether there is one or not. */
const TORCH = /\/(libtorch_(?:cuda|hip|xpu)\.so)/;
/** Drivers of devices, and what they map of one that is used. */
const DRIVER = /\/(libcuda\.so|libvulkan\.so|libze_intel_gpu\.so)|^(\/dev\/(?:nvidia|kfd|dri\/render))/;

/** By process, the files that tell. */
interface Process {
  /** Backends of ggml with memory of their own, and whether they were mapped before the tracer came. */
  readonly backends: Map<string, boolean>;
  torch: string | null;
  driver: string | null;
  /** What the driver maps of a device that is used. */
  node: string | null;
}

function sentences({ backends, torch, driver, node }: Process): string[] {
  const out = [...backends].flatMap(([backend, isEarlier]) =>
    isEarlier
      ? `llama.cpp: which weights and KV caches lay in memory of the ${backend} backend before the tracer came is not identifiable: its library was mapped already`
      : [],
  );
  if (driver === null) return out;
  if (torch !== null) {
    out.push(
      `PyTorch: weights, KV caches and activations on a device are not identifiable, as they have no address in the process: ${torch} and ${driver} are mapped`,
    );
  } else if (backends.size === 0) {
    out.push(`what lies in memory of a device is not identifiable, if anything does: ${driver} is mapped`);
  }
  if (node !== null) {
    out.push(
      `what a device reads and writes of the memory of the process by itself, such as buffers that are pinned for it, is in no figure: ${node} is mapped`,
    );
  }
  return out;
}

/** Nothing is mapped yet. */
export function deviceLibraries(): DeviceLibraries {
  const processes = new Map<number, Process>();
  const ended = new Set<string>();

  function note({ pid, kind, path }: MappingEvent): void {
    if (kind === "exit" || kind === "exec") {
      const gone = processes.get(pid);
      if (gone !== undefined) for (const sentence of sentences(gone)) ended.add(sentence);
      processes.delete(pid);
      return;
    }
    if (path === null) return;
    const backend = libraryBackend(path);
    const [, torch] = TORCH.exec(path) ?? [];
    const [, library, node] = DRIVER.exec(path) ?? [];
    const driver = library ?? node;
    if (backend === null && torch === undefined && driver === undefined) return;
    const seen = processes.get(pid) ?? { backends: new Map<string, boolean>(), torch: null, driver: null, node: null };
    processes.set(pid, seen);
    if (backend !== null && !seen.backends.has(backend)) seen.backends.set(backend, kind === "snapshot");
    seen.torch ??= torch ?? null;
    seen.driver ??= driver ?? null;
    seen.node ??= node ?? null;
  }

  return {
    follow(rows) {
      for (const row of rows) note(row);
    },
    warnings: () => [...new Set([...ended, ...[...processes.values()].flatMap(sentences)])],
  };
}
