/** Opens a mapped object and attaches the engine's probes to it: once per file, for every process that maps it. */
import { statSync } from "node:fs";
import { readElf } from "../../elf/elf.ts";
import { MrmTraceError } from "../../errors.ts";
import type { BpfObject } from "../../kernel/bpf-object.ts";
import type { Engine, EngineProbe } from "../engine.ts";
import { chooseLayout, type LayoutChoice } from "./offsets.ts";

/** A file in which the engine was found. */
export interface EngineFile {
  readonly path: string;
  readonly soname: string | null;
  readonly buildId: string | null;
  readonly layout: LayoutChoice;
  readonly symbols: readonly string[];
  readonly attached: number;
  /** Probes that the kernel refused, by its words. */
  readonly refused: Readonly<Record<string, number>>;
}

export interface ObjectProbes extends Disposable {
  /**
   * The file behind a path; null where it is no part of the engine, or cannot be read.
   * @throws MrmTraceError environment, where the kernel refused every probe
   */
  attach(path: string): EngineFile | null;
  /** Probes asked for and refused so far. */
  readonly counts: {
    asked: number;
    refused: number;
    readonly refusedBy: Record<string, number>;
    unreadableObjects: number;
  };
}

/** Device and inode; null where the path leads nowhere. */
function fileKey(path: string): string | null {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat?.isFile() && stat.size > 0n ? `${stat.dev}:${stat.ino}` : null;
}

function describe(
  path: string,
  engine: Engine,
): { file: Omit<EngineFile, "attached" | "refused">; probes: readonly EngineProbe[] } | null {
  // Mapped, not read: an object can be 100 MB and we need some pages of it.
  const elf = readElf(Bun.mmap(path));
  if (!elf.ok) return null;
  const object = { path, soname: elf.soname(), buildId: elf.buildId(), dynamicSymbol: elf.dynamicSymbol };
  const probes = engine.probesOf(object);
  if (probes.length === 0) return null;
  const { soname, buildId } = object;
  const symbols = [...new Set(probes.map(({ symbol }) => symbol))];
  return { file: { path, soname, buildId, layout: chooseLayout(object), symbols }, probes };
}

/** Nothing attached yet; disposing detaches everything. */
export function objectProbes(object: BpfObject, engine: Engine): ObjectProbes {
  const files = new Map<string, EngineFile | null>();
  const links = new DisposableStack();
  const entry = object.program("engine_entry");
  const ret = object.program("engine_return");
  const counts = { asked: 0, refused: 0, refusedBy: {} as Record<string, number>, unreadableObjects: 0 };

  function attachAll(path: string, probes: readonly EngineProbe[]): Pick<EngineFile, "attached" | "refused"> {
    const refused: Record<string, number> = {};
    let attached = 0;
    let first: MrmTraceError | null = null;
    for (const { offset, isReturn, cookie } of probes) {
      counts.asked += 1;
      try {
        // Every process: one that starts later is seen from its first call, and the program asks whose call it is.
        links.use((isReturn ? ret : entry).attachUprobe({ path, offset, pid: -1, retprobe: isReturn, cookie }));
        attached += 1;
      } catch (error) {
        if (!(error instanceof MrmTraceError)) throw error;
        first ??= error;
        counts.refused += 1;
        refused[error.message] = (refused[error.message] ?? 0) + 1;
        counts.refusedBy[error.message] = (counts.refusedBy[error.message] ?? 0) + 1;
      }
    }
    if (attached === 0 && first !== null) throw first;
    return { attached, refused };
  }

  return {
    counts,
    attach(path) {
      const key = fileKey(path);
      if (key === null) {
        counts.unreadableObjects += 1;
        return null;
      }
      const known = files.get(key);
      if (known !== undefined) return known;
      files.set(key, null);
      let described: ReturnType<typeof describe>;
      try {
        described = describe(path, engine);
      } catch {
        counts.unreadableObjects += 1;
        return null;
      }
      if (described === null) return null;
      const file = { ...described.file, ...attachAll(path, described.probes) };
      files.set(key, file);
      return file;
    },
    [Symbol.dispose]() {
      links.dispose();
    },
  };
}
