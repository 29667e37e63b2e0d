/**
 * Weights that no mapped file names, by the names that the modules of the program have for them: its Python objects are read from
 * outside, once a pass has looked something up in a table without a name, while a thread is in a method of a module. The same names
 * tell how many layers a model has, where that is asked.
 */
import { monotonicNs } from "../../kernel/libc.ts";
import { nullsOf } from "../../schema/row.ts";
import { firstArguments } from "../cpython/call-frames.ts";
import { readableInterpreter } from "../cpython/interpreter.ts";
import { pythonObjects } from "../cpython/objects.ts";
import type { AddressOf, EngineRow, LiveTensor, Look, NameAt, ReadMemory } from "../engine.ts";
import { goneRow } from "./gone-row.ts";
import { layersOfModel, type ModelLayers } from "./model-layers.ts";
import {
  type HeldTensor,
  isHeld,
  isModule,
  type ModelParameters,
  moduleParameters,
  type Parameter,
} from "./module-parameters.ts";
import { parameterRows, parameterTensor } from "./parameter-rows.ts";
import { ENGINE_NAME } from "./probes.ts";

export interface NamedWeights {
  /** A pass uses what has no name, at this address. */
  want(addr: bigint, time_ns: bigint): void;
  /** The name of the parameter that begins at an address; null for none. */
  nameAt(addr: bigint): string | null;
  /**
   * How many layers the model has whose table of tokens begins at an address; null while that is looked for, which this begins.
   * @param since_ns when the table was used
   */
  layersOf(table: bigint, since_ns: bigint): ModelLayers | null;
  /**
   * Reads the objects, where that is wanted, and looks whether what was told is still there.
   * @param passes how many have begun: where none has since the last time no thread is in a method, and nothing is read
   */
  look(read: ReadMemory, now_ns: () => bigint, passes: number): Look | null;
  /** Looks at once whether what was told is still there. */
  check(read: ReadMemory, now_ns: bigint): void;
  takeRows(): { readonly tensors: EngineRow<"tensor">[]; readonly steps: EngineRow<"step">[] };
  live(): readonly LiveTensor[];
  /** Why some have no name; empty where all that are used have. */
  untold(): readonly string[];
}

interface Named {
  readonly tensor: LiveTensor;
  readonly held: HeldTensor;
}

/** Models as the modules read, each with the parameters below the outermost of its modules, and all of these. */
interface ReadModels {
  readonly models: readonly ModelParameters[];
  readonly parameters: readonly Parameter[];
  readonly held: ReadonlyMap<bigint, HeldTensor>;
}

/** What was learned of the layers of a model. */
interface Layers {
  readonly layers: ModelLayers;
  /** What held its table then; null where they are not known. */
  readonly held: HeldTensor | null;
}

/** A file that is mapped has told its names by then. */
const PATIENCE_NS = 500_000_000n;
/** So often the objects of a process are read until they hold what is used, and no sooner after each other. */
const LOOKS = 32;
const LOOK_NS = 200_000_000n;
/** Time between looks at what holds them. */
const CHECK_NS = 1_000_000_000n;
/** Addresses that stayed without a name though the objects were read. */
const NAMELESS = 4096;
const NO_MODULE = "no thread of its process was seen in a method of a module that holds them";
const NO_LAYERS =
  "no thread of its process was seen in a method of a module that holds them beside the table of tokens";

/** None known yet. @param nameAt what a mapped file says of an address */
export function namedWeights(pid: number, nameAt: NameAt, addressOf: AddressOf): NamedWeights {
  const named = new Map<bigint, Named>();
  /** Those that are used and that no module which was read holds. */
  const nameless = new Set<bigint>();
  /** Those that are used and have no name yet, each since when. */
  const wanted = new Map<bigint, bigint>();
  /** Layers of models by their tables, and the tables of which they are wanted, each since when. */
  const layers = new Map<bigint, Layers>();
  const unlayered = new Map<bigint, bigint>();
  let left = LOOKS;
  let readNs = 0n;
  let readPasses = 0;
  let checkedNs = 0n;
  let untold: string | null = null;
  let tensors: EngineRow<"tensor">[] = [];
  let steps: EngineRow<"step">[] = [];

  /** Of every module that a thread is in, outermost first, so that names begin there; null where they cannot be told. */
  function modelsNow(read: ReadMemory): ReadModels | null {
    const python = readableInterpreter(pid, addressOf, read);
    if ("untold" in python) {
      untold = python.untold;
      return null;
    }
    const { layout, runtime } = python;
    const objects = pythonObjects(read, layout);
    const modulesNow = (): bigint[] =>
      [...new Set(firstArguments(read, layout, runtime))].filter((object) => isModule(objects, object)).reverse();
    const seen = new Set<bigint>();
    const roots: bigint[] = [];
    const found = modulesNow().map((module) => {
      if (!seen.has(module)) roots.push(module);
      return moduleParameters(read, objects, module, undefined, seen);
    });
    // Threads go on meanwhile: what is read of their calls may have lost the outer ones, but not twice the same.
    const again = new Set(modulesNow());
    if (!roots.every((root) => again.has(root)) || ![...again].every((module) => seen.has(module))) return null;
    const held = new Map(found.flatMap((one) => [...one.held]));
    const parameters = new Map(found.flatMap((one) => one.parameters).map((one) => [one.addr, one] as const));
    return { models: found, parameters: [...parameters.values()], held };
  }

  function forget(addr: bigint, { tensor }: Named, timestamp_ns: bigint): void {
    named.delete(addr);
    const size_bytes = BigInt(tensor.size_bytes);
    tensors.push(goneRow({ addr, size_bytes }, { timestamp_ns, pid, tid: pid, evidence: "engine_objects" }));
  }

  function check(read: ReadMemory, now_ns: bigint): void {
    for (const [addr, one] of named) if (!isHeld(one.held, read)) forget(addr, one, checkedNs);
    // Another model may have its table there by now.
    for (const [table, { held }] of layers) if (held !== null && !isHeld(held, read)) layers.delete(table);
    checkedNs = now_ns;
  }

  /** What was looked for often enough is looked for no more, and nothing is where nothing has a name by then. */
  function giveUp(): void {
    if (left === 0 && wanted.size > 0 && named.size === 0 && layers.size === 0) untold ??= NO_MODULE;
    if (left > 0 && untold === null) return;
    for (const addr of wanted.keys()) if (nameless.size < NAMELESS) nameless.add(addr);
    wanted.clear();
    for (const table of unlayered.keys()) layers.set(table, { layers: { untold: untold ?? NO_LAYERS }, held: null });
    unlayered.clear();
    left = LOOKS;
  }

  /** @returns how many are new */
  function tell(parameters: readonly Parameter[], heldAt: ReadonlyMap<bigint, HeldTensor>, now_ns: bigint): number {
    let fresh = 0;
    for (const parameter of parameters) {
      const held = heldAt.get(parameter.addr);
      // What a file names is told of by its mapping.
      if (held === undefined || nameAt(pid, parameter.addr) !== null) continue;
      const tensor = parameterTensor(ENGINE_NAME, pid, parameter);
      const { name, size_bytes } = named.get(parameter.addr)?.tensor ?? {};
      if (name === tensor.name && size_bytes === tensor.size_bytes) continue;
      named.set(parameter.addr, { tensor, held });
      tensors.push(...parameterRows(tensor, parameter, now_ns));
      fresh += 1;
    }
    if (fresh === 0) return 0;
    checkedNs = now_ns;
    const weight_bytes = [...named.values()].reduce((sum, { tensor }) => sum + tensor.size_bytes, 0);
    const detail = JSON.stringify({ weight_tensors: named.size, weight_bytes });
    const { engine: _, ...none } = nullsOf("step");
    steps.push({ ...none, timestamp_ns: now_ns, pid, tid: pid, kind: "engine", detail });
    return fresh;
  }

  function countLayers({ models, held }: ReadModels): void {
    for (const { parameters, missing } of models) {
      const tables = parameters.filter(({ addr }) => unlayered.has(addr));
      if (tables.length === 0) continue;
      const names = [...parameters.map(({ name }) => name), ...missing];
      for (const { addr, name } of tables) {
        const found = layersOfModel(names, name);
        // A part of a model that has the table alone tells nothing.
        if (found === null) continue;
        // One that guesses tokens ahead for a larger one may share its table.
        const other = layers.get(addr)?.layers;
        const most = typeof other === "number" ? Math.max(found, other) : found;
        layers.set(addr, { layers: most, held: held.get(addr) ?? null });
      }
    }
    for (const table of layers.keys()) unlayered.delete(table);
  }

  return {
    want(addr, time_ns) {
      if (named.has(addr) || nameless.has(addr) || wanted.size >= NAMELESS) return;
      if (untold !== null) {
        if (nameless.size < NAMELESS) nameless.add(addr);
      } else if (!wanted.has(addr)) wanted.set(addr, time_ns);
    },
    layersOf(table, since_ns) {
      const found = layers.get(table);
      if (found !== undefined) return found.layers;
      if (untold !== null) return { untold };
      if (!unlayered.has(table) && unlayered.size < NAMELESS) unlayered.set(table, since_ns);
      return null;
    },
    nameAt: (addr) => named.get(addr)?.tensor.name ?? null,
    look(read, now_ns = monotonicNs, passes) {
      const begin_ns = now_ns();
      if (named.size + layers.size > 0 && begin_ns >= checkedNs + CHECK_NS) check(read, begin_ns);
      const since = [...wanted.values(), ...unlayered.values()];
      const isLong = since.some((since_ns) => begin_ns >= since_ns + PATIENCE_NS);
      if (!isLong || passes === readPasses || begin_ns < readNs + LOOK_NS) return null;
      for (const addr of wanted.keys()) if (nameAt(pid, addr) !== null) wanted.delete(addr);
      if (wanted.size === 0 && unlayered.size === 0) return null;
      readNs = begin_ns;
      readPasses = passes;
      left -= 1;
      const found = modelsNow(read);
      // Names that begin at a part of the model are none: it must be the one that holds what is used.
      if (!found?.parameters.some(({ addr }) => wanted.has(addr) || unlayered.has(addr))) {
        giveUp();
        return null;
      }
      const fresh = tell(found.parameters, found.held, begin_ns);
      countLayers(found);
      for (const addr of named.keys()) wanted.delete(addr);
      // What is left may be of another model, in which no thread was just now.
      if (wanted.size === 0 && unlayered.size === 0) left = LOOKS;
      else giveUp();
      return {
        ...{ graph: "model", tensors: found.parameters.length, found: fresh, refused: {} },
        ...{ nodes: 0, unread_nodes: 0 },
      };
    },
    check,
    takeRows() {
      const taken = { tensors, steps };
      tensors = [];
      steps = [];
      return taken;
    },
    live: () => [...named.values()].map(({ tensor }) => tensor),
    untold: () =>
      untold === null || nameless.size === 0 ? [] : [`the names of its weights are not identifiable: ${untold}`],
  };
}
