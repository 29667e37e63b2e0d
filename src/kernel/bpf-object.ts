/** A loaded BPF object: its maps and programs by our names; everything is owned and freed with `using`. */
import { CString } from "bun:ffi";
import { MrmTraceError } from "../errors.ts";
import { registerPrograms } from "./bpf-costs.ts";
import { captureLibbpfLog, refusal } from "./bpf-error.ts";
import { type BpfMap, openMap } from "./bpf-map.ts";
import { bpfObjectPath, hasThisHeader } from "./bpf-object-files.ts";
import { type BpfProgram, openProgram } from "./bpf-program.ts";
import { possibleCpus } from "./cpus.ts";
import { addressOf, cString, stableBytes } from "./foreign-memory.ts";
import { type Handle, handle, libbpf } from "./libbpf.ts";
import { errno } from "./libc.ts";
import { UPROBE_MULTI } from "./uprobe-multi.ts";

const LOG_BYTES = 1 << 20;
/** The verifier gives up with EAGAIN at every signal, and the runtime signals its threads when it collects garbage. */
const EAGAIN = 11;
const INTERRUPTED_TRIES = 8;
const OPEN_OPTS_BYTES = 80;

export interface BpfObject extends Disposable {
  readonly name: string;
  map(name: string): BpfMap;
  program(name: string): BpfProgram;
  /** Names of the programs that were loaded. */
  readonly programs: readonly string[];
}

export interface LoadOptions {
  /** Entries of maps that are sized at start. */
  readonly maxEntries?: Readonly<Record<string, number>>;
  /** Maps whose entries are multiplied by the number of possible CPUs: the ring areas. */
  readonly perCpu?: readonly string[];
  /** Maps that another object owns, by name: fd. */
  readonly reuse?: Readonly<Record<string, number>>;
  /** Programs that `linkUprobeMulti` will attach, and nothing else can. */
  readonly uprobeMulti?: readonly string[];
  /** Programs not to load. */
  readonly skip?: readonly string[];
  /** What sections of constants hold, by name. */
  readonly initial?: Readonly<Record<string, Uint8Array>>;
}

/**
 * Loads dist/bpf/NAME.bpf.o into the kernel, with its constants as they are given.
 * @throws MrmTraceError environment, with errno and the end of the verifier's log
 */
export async function loadBpfObject(name: string, options: LoadOptions = {}): Promise<BpfObject> {
  for (let left = INTERRUPTED_TRIES; ; left--) {
    const result = await tryOpen(name, options);
    if (result.object) return result.object;
    if (result.errno !== EAGAIN || left === 0) throw result.refused;
  }
}

type Opened =
  | { readonly object: BpfObject }
  | { readonly object: null; readonly errno: number; readonly refused: MrmTraceError };

async function tryOpen(name: string, options: LoadOptions): Promise<Opened> {
  const file = Bun.file(bpfObjectPath(name));
  if (!(await file.exists())) {
    throw new MrmTraceError(
      "environment",
      `the BPF object ${name} is not built`,
      "run scripts/build-bpf in a work tree; add a package again that lacks it",
    );
  }
  const lib = libbpf();
  captureLibbpfLog();
  const bytes = new Uint8Array(await file.arrayBuffer());
  const log = stableBytes(LOG_BYTES);
  const nameBytes = stableBytes(64);
  nameBytes.set(new TextEncoder().encode(name.slice(0, 60)));
  const opts = stableBytes(OPEN_OPTS_BYTES);
  const view = new DataView(opts.buffer);
  view.setBigUint64(0, BigInt(OPEN_OPTS_BYTES), true);
  view.setBigUint64(8, BigInt(addressOf(nameBytes)), true);
  view.setBigUint64(56, BigInt(addressOf(log)), true);
  view.setBigUint64(64, BigInt(LOG_BYTES), true);
  const object = handle(lib.bpf_object__open_mem(addressOf(bytes), bytes.length, addressOf(opts)));
  if (object === null) throw refusal(`opening the BPF object ${name}`, errno(), "");
  const owned = new DisposableStack();
  owned.defer(() => lib.bpf_object__close(object));
  try {
    if (!hasThisHeader(bytes)) {
      // Such a one runs, and what it copies is taken for something else, or for nothing.
      throw new MrmTraceError(
        "environment",
        `the BPF object ${name} was compiled from another source than this one`,
        "run scripts/build-bpf in a work tree; add a package again that has it",
      );
    }
    prepare(object, name, options);
    const result = lib.bpf_object__load(object);
    if (result !== 0) {
      const refused = refusal(`loading the BPF object ${name}`, -result, new CString(addressOf(log)).toString());
      owned.dispose();
      return { object: null, errno: -result, refused };
    }
  } catch (error) {
    owned.dispose();
    throw error;
  }
  return { object: describe(object, name, owned, options.skip ?? []) };
}

function prepare(object: Handle, name: string, options: LoadOptions): void {
  const lib = libbpf();
  const find = (map: string): Handle => {
    const found = handle(lib.bpf_object__find_map_by_name(object, cString(map)));
    if (found === null) throw new MrmTraceError("failure", `the BPF object ${name} has no map ${map}`, REPORT_HINT);
    return found;
  };
  for (const [map, entries] of Object.entries(options.maxEntries ?? {})) {
    lib.bpf_map__set_max_entries(find(map), entries);
  }
  for (const map of options.perCpu ?? []) {
    const found = find(map);
    lib.bpf_map__set_max_entries(found, lib.bpf_map__max_entries(found) * possibleCpus());
  }
  for (const [map, fd] of Object.entries(options.reuse ?? {})) {
    const result = lib.bpf_map__reuse_fd(find(map), fd);
    if (result !== 0) throw refusal(`sharing the map ${map} with ${name}`, -result, "");
  }
  for (const [map, bytes] of Object.entries(options.initial ?? {})) {
    const result = lib.bpf_map__set_initial_value(find(map), addressOf(bytes), bytes.length);
    if (result !== 0) throw refusal(`filling the constants ${map} of ${name}`, -result, "");
  }
  for (const program of options.uprobeMulti ?? []) {
    const found = handle(lib.bpf_object__find_program_by_name(object, cString(program)));
    if (found !== null) lib.bpf_program__set_expected_attach_type(found, UPROBE_MULTI);
  }
  for (const program of options.skip ?? []) {
    const found = handle(lib.bpf_object__find_program_by_name(object, cString(program)));
    if (found !== null) lib.bpf_program__set_autoload(found, false);
  }
}

function describe(object: Handle, name: string, owned: DisposableStack, skipped: readonly string[]): BpfObject {
  const lib = libbpf();
  const programs: string[] = [];
  let program = handle(lib.bpf_object__next_program(object, null));
  while (program !== null) {
    const programName = String(lib.bpf_program__name(program));
    if (!skipped.includes(programName)) programs.push(programName);
    program = handle(lib.bpf_object__next_program(object, program));
  }
  const programOf = (programName: string): BpfProgram => {
    const found = handle(lib.bpf_object__find_program_by_name(object, cString(programName)));
    if (found === null) {
      throw new MrmTraceError("failure", `the BPF object ${name} has no program ${programName}`, REPORT_HINT);
    }
    return openProgram(found, programName);
  };
  owned.use(
    registerPrograms(
      programs.map((programName) => ({ name: programName, object: name, cost: programOf(programName).cost })),
    ),
  );
  return {
    name,
    programs,
    map(mapName) {
      const map = handle(lib.bpf_object__find_map_by_name(object, cString(mapName)));
      if (map === null) throw new MrmTraceError("failure", `the BPF object ${name} has no map ${mapName}`, REPORT_HINT);
      return openMap(map, mapName);
    },
    program: programOf,
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}

const REPORT_HINT = "rebuild the objects with scripts/build-bpf; if it stays, report it with `--debug`";
