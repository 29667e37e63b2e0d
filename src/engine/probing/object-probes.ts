/** Opens a mapped object and attaches its engines' probes to it: once per file, for every process that maps it. */
import { existsSync, statSync } from "node:fs";
import { debugDataOf } from "../../elf/debug-data.ts";
import { type ElfFile, readElf } from "../../elf/elf.ts";
import { type FileBytes, openFileBytes } from "../../elf/file-bytes.ts";
import { MrmTraceError } from "../../errors.ts";
import type { BpfObject, LoadOptions } from "../../kernel/bpf-object.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { linkUprobeMulti, supportsUprobeMulti, type UprobeMultiPlaces } from "../../kernel/uprobe-multi.ts";
import { ENGINE_COOKIE } from "../../schema/shared-numbers.ts";
import type { Engine, EngineBuild, EngineObject, EngineProbe, Presence } from "../engine.ts";
import type { CaptureTable } from "./capture-table.ts";
import { probeSite } from "./probe-site.ts";
import { type ProbeLink, restingProbes } from "./resting-probes.ts";

/** A file in which an engine was found. */
export interface EngineFile {
  readonly engine: Engine;
  /** As the process names it that mapped it first. */
  readonly path: string;
  /** Device and inode, which the probes hold. */
  readonly identity: string;
  readonly build: EngineBuild;
  readonly symbols: readonly string[];
  readonly attached: number;
  /** When the probes were in place. */
  readonly attachedNs: bigint;
  /** Functions whose probes the kernel refused. */
  readonly refused: Readonly<Record<string, number>>;
}

export interface ObjectProbes extends Disposable {
  /**
   * The file of a path, once for each engine that it is a part of; none where it is of no engine, or cannot be read.
   * @param openPath where it is opened, `path` unless told; null where no way leads to it
   * @throws MrmTraceError environment, where the kernel refused every probe of an engine
   */
  attach(path: string, openPath?: string | null): readonly EngineFile[];
  /** Whether the probes of an engine that may rest, or those that are there on request, are wanted now. */
  setWanted(engine: Engine, presence: Presence, wanted: boolean): void;
  /** Probes asked for and refused so far. */
  readonly counts: {
    asked: number;
    refused: number;
    readonly refusedBy: Record<string, number>;
    unreadableObjects: number;
    objectsWithoutFile: number;
  };
}

type EngineFilePart = Pick<EngineFile, "attached" | "refused">;
type Place = EngineProbe & { readonly cookie: bigint };

/** Device and inode, and what changes when the number is given to another file, or the file is written anew. */
function fileKeys({ heldPath }: FileBytes): { readonly identity: string; readonly state: string } {
  const { dev, ino, size, birthtimeNs, mtimeNs } = statSync(heldPath, { bigint: true });
  return { identity: `${dev}:${ino}`, state: `${size}:${birthtimeNs}:${mtimeNs}` };
}

/** What was found in a file, and its state then. */
interface Looked {
  readonly files: readonly EngineFile[];
  readonly state: string;
}

/** A file as one engine sees it. */
interface Recognised {
  readonly file: Omit<EngineFile, "attached" | "attachedNs" | "refused">;
  readonly probes: readonly EngineProbe[];
}

/**
 * Exported functions; those of a program that exports none of the names by its whole table of symbols, which is read when first asked
 * for, and where it is stripped by what a program of Go keeps.
 */
function finder(elf: ElfFile, names: readonly string[]): EngineObject["symbol"] {
  let find: EngineObject["symbol"] | null = null;
  const choose = (): EngineObject["symbol"] => {
    if (names.some((name) => elf.dynamicSymbol(name) !== undefined)) return elf.dynamicSymbol;
    const local = elf.localFunctions(names);
    const found = local.size > 0 ? local : elf.functionsByGo(names);
    return (name) => found.get(name);
  };
  return (name) => {
    find ??= choose();
    return find(name);
  };
}

/** The folder below which a process sees its files, by a way that leads through it; "" for ours. */
const rootOf = (openPath: string): string =>
  openPath.match(/^\/proc\/\d+(?=\/(?:root|map_files)\/)/)?.[0].concat("/root") ?? "";

/** The engines of which a file is a part; none for what is no ELF file. @param openPath the way by which it was opened */
export function recognise(
  path: string,
  identity: string,
  bytes: FileBytes,
  engines: readonly Engine[],
  openPath = path,
): Recognised[] {
  const elf = readElf(bytes);
  if (!elf.ok) return [];
  const plain = { soname: elf.soname(), buildId: elf.buildId() };
  return engines.flatMap((engine) => {
    const symbol = finder(elf, engine.symbols);
    const names = engine.structuresOf?.({ path, ...plain, symbol }) ?? [];
    const build: EngineBuild =
      names.length === 0 ? plain : { ...plain, debugData: debugDataOf(elf, path, rootOf(openPath), names) };
    const probes = engine.probesOf({ path, ...build, symbol });
    const symbols = [...new Set(probes.map(({ symbol }) => symbol))];
    const isStripped = symbols.some((name) => symbol(name)?.isByGo);
    const hasOlderNames = engine.hasOlderNames?.({ path, ...build, symbol }) ?? false;
    const traits = { ...(isStripped ? { isStripped } : {}), ...(hasOlderNames ? { hasOlderNames } : {}) };
    const file = { engine, path, identity, build: { ...build, ...traits }, symbols };
    return probes.length === 0 ? [] : [{ file, probes }];
  });
}

const PROGRAMS = ["engine_entry", "engine_return"] as const;

/** The object with its programs loaded for links of many probes, where the kernel knows those. @throws MrmTraceError environment */
export async function openEngineObject(
  openObject: (name: string, options: LoadOptions) => Promise<BpfObject>,
  reuse: Readonly<Record<string, number>>,
): Promise<{ readonly object: BpfObject; readonly multi: boolean }> {
  const object = await openObject("engine", { reuse, uprobeMulti: PROGRAMS });
  if (supportsUprobeMulti(object.program(PROGRAMS[0]).fd)) return { object, multi: true };
  object[Symbol.dispose]();
  return { object: await openObject("engine", { reuse }), multi: false };
}

export type LinkMany = (programFd: number, places: UprobeMultiPlaces) => ProbeLink;

export interface ProbeTools {
  readonly object: BpfObject;
  /** As `openEngineObject` said. */
  readonly multi: boolean;
  readonly engines: readonly Engine[];
  readonly captures: CaptureTable;
  /** Unless told, as they come from the kernel. */
  readonly linkMany?: LinkMany;
}

/** Nothing attached yet; disposing detaches everything. */
export function objectProbes({
  object,
  multi,
  engines,
  captures,
  linkMany = linkUprobeMulti,
}: ProbeTools): ObjectProbes {
  const lookedAt = new Map<string, Looked>();
  const links = new DisposableStack();
  const resting = links.use(restingProbes());
  /** Engines whose resting probes could not be put back: counted once, and not tried for ever. */
  const lost = new Set<Engine>();
  const counts = {
    asked: 0,
    refused: 0,
    refusedBy: {} as Record<string, number>,
    unreadableObjects: 0,
    objectsWithoutFile: 0,
  };

  /** Every process: one that starts later is seen from its first call, and the program asks whose call it is. */
  function link(path: string, isReturn: boolean, probes: readonly Place[]): ProbeLink {
    const program = object.program(PROGRAMS[isReturn ? 1 : 0]);
    if (multi) return linkMany(program.fd, { path, isReturn, places: probes });
    const owned = new DisposableStack();
    for (const { offset, cookie } of probes) {
      owned.use(program.attachUprobe({ path, offset, pid: -1, retprobe: isReturn, cookie }));
    }
    // libbpf's own links are closed by who destroys them.
    const detach = (): void => owned.dispose();
    return { closeAside: detach, [Symbol.dispose]: detach };
  }

  function linkOrRest(path: string, engine: Engine, group: readonly Place[]): void {
    const [{ isReturn, presence } = { isReturn: false }] = group;
    if (presence !== undefined) resting.add(engine, presence, path, (held) => link(held, isReturn, group));
    else links.use(link(path, isReturn, group));
  }

  /** Where each goes, and what its program is told. Of two at one place it is the entry that the processor steps over. */
  function placesOf(engine: Engine, probes: readonly EngineProbe[], bytes: FileBytes): Place[] {
    const number = engines.indexOf(engine);
    const has = (symbol: string, wanted: boolean): boolean =>
      probes.some(({ symbol: other, isReturn }) => other === symbol && isReturn === wanted);
    return probes.map((probe) => {
      const { offset, isStepped, isRealigned } = probeSite(bytes, probe.offset, has(probe.symbol, true));
      const steps = isStepped && !(probe.isReturn && has(probe.symbol, false));
      const site = (steps ? ENGINE_COOKIE.stepped : 0) + (isRealigned ? ENGINE_COOKIE.realigned : 0);
      return { ...probe, offset, cookie: BigInt(site + captures.numberOf(number, probe)) };
    });
  }

  function attachAll(engine: Engine, probes: readonly EngineProbe[], bytes: FileBytes): EngineFilePart {
    const refused: Record<string, number> = {};
    let first: MrmTraceError | null = null;
    let attached = 0;
    /** All at once, else one by one, so that one function that cannot be probed does not cost the others. */
    const attempt = (group: readonly Place[]): void => {
      if (group.length === 0) return;
      try {
        linkOrRest(bytes.heldPath, engine, group);
        attached += group.length;
      } catch (error) {
        if (!(error instanceof MrmTraceError)) throw error;
        if (group.length > 1) {
          for (const probe of group) attempt([probe]);
          return;
        }
        first ??= error;
        counts.refused += 1;
        const symbol = group[0]?.symbol ?? "";
        refused[symbol] = (refused[symbol] ?? 0) + 1;
        counts.refusedBy[symbol] = (counts.refusedBy[symbol] ?? 0) + 1;
      }
    };
    counts.asked += probes.length;
    const places = placesOf(engine, probes, bytes);
    const groups = Map.groupBy(places, ({ isReturn, presence = "" }) => `${!isReturn}/${presence}`);
    for (const [, group] of [...groups].sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (multi) attempt(group);
      else for (const probe of group) attempt([probe]);
    }
    if (attached === 0 && first !== null) throw first;
    return { attached, refused };
  }

  /** As `attachAll`, with the name of the file in what is said. */
  function attachTo({ file: { path, engine }, probes }: Recognised, bytes: FileBytes): EngineFilePart {
    try {
      return attachAll(engine, probes, bytes);
    } catch (error) {
      if (!(error instanceof MrmTraceError)) throw error;
      const { code, message, hint } = error;
      throw new MrmTraceError(code, message.replaceAll(bytes.heldPath, path), hint, { cause: error });
    }
  }

  return {
    counts,
    attach(path, openPath = path) {
      // A probe is put into a file for every process: it must be the file whose functions were read.
      using bytes = openPath === null ? null : openFileBytes(openPath);
      if (bytes === null) {
        // Memory that is executed and has no file, such as made code, is named like a file that was deleted.
        if (openPath !== null && existsSync(openPath)) counts.unreadableObjects += 1;
        else counts.objectsWithoutFile += 1;
        return [];
      }
      const { identity, state } = fileKeys(bytes);
      const before = lookedAt.get(identity);
      // Probes hold the file: its number is given to no other. One without any may be gone, and another have its number.
      if (before !== undefined && (before.files.length > 0 || before.state === state)) return before.files;
      lookedAt.set(identity, { files: [], state });
      let recognised: readonly Recognised[];
      try {
        recognised = recognise(path, identity, bytes, engines, openPath ?? path);
      } catch {
        counts.unreadableObjects += 1;
        return [];
      }
      const files = recognised.map((one) => ({ ...one.file, ...attachTo(one, bytes), attachedNs: monotonicNs() }));
      lookedAt.set(identity, { files, state });
      return files;
    },
    setWanted(engine, presence, wanted) {
      if (lost.has(engine) || resting.set(engine, presence, wanted)) return;
      lost.add(engine);
      counts.refused += 1;
      counts.refusedBy["not put back"] = (counts.refusedBy["not put back"] ?? 0) + 1;
    },
    [Symbol.dispose]() {
      links.dispose();
    },
  };
}
