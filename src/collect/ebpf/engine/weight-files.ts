/** Weights by name without a probe: a file that a process maps and that names its tensors says where each of them lies. */
import type { LiveTensor, NameAt } from "../../../engine/engine.ts";
import type { SeenOfEngines } from "../../../engine/probing/session.ts";
import { SAFETENSORS, SAFETENSORS_PATH } from "../../../engine/safetensors/file.ts";
import { SILENT_ENGINES, untoldOf } from "../../../engine/silent-engines.ts";
import type { ProcessMaps } from "../../../regions/mapping-events.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import { nullsOf, type RowOf } from "../../../schema/row.ts";
import { extentKey, type FileExtent, fileExtents, meets } from "./file-extents.ts";
import { fileStays } from "./file-stays.ts";
import { weightDirectories } from "./weight-directories.ts";
import { birthRows, deathRow, tensorsIn } from "./weight-rows.ts";

export interface WeightFiles {
  /** Takes rows of mappings that the maps show already. */
  follow(rows: readonly MappingEvent[]): void;
  /** Looks at the maps that may have changed; rows since the last call. */
  takeRows(): { readonly tensors: RowOf<"tensor">[]; readonly steps: RowOf<"step">[] };
  liveTensors(): LiveTensor[];
  nameAt: NameAt;
  /**
   * What is not known of what was recognised, and why.
   * @param now_ns CLOCK_MONOTONIC
   * @param seen what the engines told
   */
  warnings(now_ns: bigint, seen: SeenOfEngines): readonly string[];
}

/** An extent of a file whose header was read. */
interface Named {
  readonly extent: FileExtent;
  readonly tensors: readonly LiveTensor[];
}

interface Process {
  readonly pid: number;
  /** By key of the extent. */
  readonly named: Map<string, Named>;
  /** Engines and formats that were told, with their files. */
  readonly recognised: Set<string>;
  /** Files whose names came without their mappings, since when. */
  readonly awaited: Map<string, bigint>;
  /** Latest time of any of its rows. */
  last_ns: bigint;
  /** How often its map is to be looked at still: the name of a mapping may come before the mapping does. */
  looks: number;
}

const LOOKS = 3;
/** Rows of tensors in a run: a process that maps a file again and again would fill the recording. */
const MAX_ROWS = 2 ** 18;
/** Calls that leave every byte where it is. */
const UNMOVING: ReadonlySet<MappingEvent["kind"]> = new Set(["madvise", "mprotect"]);

const isWeights = (path: string): boolean => SAFETENSORS_PATH.test(path);
const isTelling = (path: string): boolean =>
  isWeights(path) || SILENT_ENGINES.some(({ library }) => library.test(path));

function earliest(times: readonly bigint[]): bigint {
  const [first = 0n] = times.toSorted((a, b) => (a < b ? -1 : 1));
  return first;
}

/** Whether a row may change which files of weights its process maps. */
function concerns(row: MappingEvent, process: Process | undefined): boolean {
  const { kind, path, addr, size_bytes, old_addr, old_size_bytes } = row;
  if (path !== null) return isTelling(path);
  if (process === undefined || UNMOVING.has(kind)) return false;
  const touched = [
    { addr, size_bytes },
    { addr: old_addr ?? 0n, size_bytes: old_size_bytes ?? 0n },
  ];
  return [...process.named.values()].some(({ extent }) => touched.some((range) => meets(range, extent)));
}

/** Nothing is mapped yet. */
export function weightFiles(maps: Pick<ProcessMaps, "mapsOf">): WeightFiles {
  const processes = new Map<number, Process>();
  const directories = weightDirectories();
  const stays = fileStays();
  /** Silent engines that were seen, and whether any of their processes has weights with names. */
  const silent = new Map<string, boolean>();
  let tensorRows: RowOf<"tensor">[] = [];
  let stepRows: RowOf<"step">[] = [];
  let written = 0;
  let unwritten = 0;

  function processOf(pid: number): Process {
    const seen = processes.get(pid);
    if (seen !== undefined) return seen;
    const sets = { named: new Map(), recognised: new Set<string>(), awaited: new Map<string, bigint>() };
    const process: Process = { pid, ...sets, last_ns: 0n, looks: 0 };
    processes.set(pid, process);
    return process;
  }

  function recognise({ recognised, pid, last_ns }: Process, engine: string, path: string, facts: object): void {
    const key = `${engine}/${path}`;
    if (recognised.has(key)) return;
    recognised.add(key);
    const detail = JSON.stringify({ path, tells_steps: false, ...facts });
    stepRows.push({ ...nullsOf("step"), engine, timestamp_ns: last_ns, pid, tid: pid, kind: "engine", detail });
  }

  function begin(process: Process, extent: FileExtent, begin_ns: bigint): void {
    const { pid, path } = extent;
    stays.mapped(pid, path, begin_ns);
    process.awaited.delete(path);
    const found = tensorsIn(extent, directories.tensorsOf(extent));
    const tensors = written + found.length > MAX_ROWS ? [] : found;
    written += tensors.length;
    unwritten += found.length - tensors.length;
    process.named.set(extentKey(extent), { extent, tensors });
    if (tensors.length === 0) return;
    const weight_bytes = tensors.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
    recognise(process, SAFETENSORS, path, { weight_tensors: tensors.length, weight_bytes });
    tensorRows = tensorRows.concat(birthRows(extent, tensors, begin_ns));
  }

  function end({ named }: Process, { extent, tensors }: Named, end_ns: bigint): void {
    named.delete(extentKey(extent));
    stays.unmapped(extent.pid, extent.path, end_ns);
    if (tensors.length > 0) tensorRows.push(deathRow(extent, end_ns));
  }

  /** Ends what a process maps no more, and begins what it maps since the last look. */
  function renew(process: Process, extents: readonly FileExtent[]): void {
    const keys = new Set(extents.map(extentKey));
    const gone = [...process.named].flatMap(([key, named]) => (keys.has(key) ? [] : [named]));
    const fresh = extents
      .filter((extent) => !process.named.has(extentKey(extent)))
      .map((extent) => {
        // What is left of a mapping was told of as a part of the whole until now.
        const isRest = gone.some(({ extent: old }) => old.mapping_id === extent.mapping_id && meets(old, extent));
        return { extent, begin_ns: isRest ? process.last_ns : extent.since_ns };
      });
    for (const named of gone) {
      const over = fresh.filter(({ extent }) => meets(extent, named.extent)).map(({ begin_ns }) => begin_ns);
      end(process, named, earliest([process.last_ns, ...over]));
    }
    for (const { extent, begin_ns } of fresh) begin(process, extent, begin_ns);
  }

  function look(process: Process): void {
    const rows = maps.mapsOf(process.pid);
    const engines = SILENT_ENGINES.flatMap(({ name, library }) => {
      const path = rows.find((row) => row.path !== null && library.test(row.path))?.path ?? null;
      return path === null ? [] : [{ name, path }];
    }).slice(0, 1);
    for (const { name, path } of engines) recognise(process, name, path, {});
    renew(process, fileExtents(rows, isWeights));
    const hasNames = [...process.named.values()].some(({ tensors }) => tensors.length > 0);
    for (const { name } of engines) silent.set(name, silent.get(name) === true || hasNames);
  }

  /** What was named and not seen mapped was unmapped between two looks. */
  function giveUp({ pid, awaited }: Process): void {
    for (const [path, time_ns] of awaited) {
      stays.mapped(pid, path, time_ns);
      stays.unmapped(pid, path, time_ns);
    }
    awaited.clear();
  }

  function note(row: MappingEvent): void {
    const { kind, pid, child_pid, path, timestamp_ns } = row;
    const seen = processes.get(pid);
    if (kind === "exit" || kind === "exec") {
      if (seen !== undefined) giveUp(seen);
      stays.ended(pid, timestamp_ns);
      processes.delete(pid);
      return;
    }
    if (seen !== undefined && timestamp_ns > seen.last_ns) seen.last_ns = timestamp_ns;
    if (kind === "fork" && child_pid !== null && seen !== undefined) {
      Object.assign(processOf(child_pid), { last_ns: timestamp_ns, looks: LOOKS });
    }
    if (!concerns(row, seen)) return;
    const process = processOf(pid);
    if (timestamp_ns > process.last_ns) process.last_ns = timestamp_ns;
    process.looks = LOOKS;
    if (path === null || !isWeights(path)) return;
    const isThere = [...process.named.values()].some(({ extent }) => extent.path === path);
    if (!isThere && !process.awaited.has(path)) process.awaited.set(path, timestamp_ns);
  }

  return {
    follow(rows) {
      for (const row of rows) note(row);
    },
    takeRows() {
      for (const process of processes.values()) {
        if (process.looks === 0) continue;
        process.looks -= 1;
        look(process);
        if (process.looks === 0) giveUp(process);
      }
      const rows = { tensors: tensorRows, steps: stepRows };
      tensorRows = [];
      stepRows = [];
      return rows;
    },
    liveTensors: () =>
      [...processes.values()].flatMap(({ named }) => [...named.values()].flatMap(({ tensors }) => tensors)),
    nameAt(pid, addr) {
      for (const { extent, tensors } of processes.get(pid)?.named.values() ?? []) {
        if (addr < extent.addr || addr >= extent.addr + extent.size_bytes) continue;
        return { name: tensors.find((tensor) => tensor.addr === addr)?.name ?? null };
      }
      return null;
    },
    warnings(now_ns, { decoding, naming, caching }) {
      const out = [...directories.refused].map(
        ([path, reason]) => `no tensor of ${path} has a name, its bytes are taken for weights: ${reason}`,
      );
      const { refusedMore } = directories;
      if (refusedMore > 0) out.push(`no tensor of ${refusedMore} more mappings of such files has a name either`);
      if (unwritten > 0) out.push(`${unwritten} tensors of files that were mapped again and again have no name`);
      const lower = new Set(SILENT_ENGINES.filter(({ name }) => silent.has(name)).map(({ builtOn }) => builtOn));
      for (const [name, hasNames] of silent) {
        // Processes of an engine that do not infer may map what it is built on alone.
        if (lower.has(name) && !decoding.has(name) && !hasNames) continue;
        const nameless = decoding.has(name) ? "have no names" : "are not identifiable either";
        const nowhere = `; it maps no file that names its tensors, so its weights ${nameless}`;
        const { untold } = SILENT_ENGINES.find((engine) => engine.name === name) ?? {};
        const more = decoding.has(name) ? "unnamed" : "unseen";
        const unsaid = untold && `${untold.always}${naming.has(name) ? "" : untold[more]}`;
        out.push(
          `${name}: its ${unsaid ?? `${untoldOf(decoding.has(name), caching.has(name))}${hasNames || naming.has(name) ? "" : nowhere}`}`,
        );
      }
      return [
        ...out,
        ...stays.copies(
          now_ns,
          SILENT_ENGINES.some(({ name }) => naming.has(name)),
        ),
      ];
    },
  };
}
