/** The Python interpreter of a process: where its state lies, and which version it is. */
import type { AddressOf, ReadMemory } from "../engine.ts";
import { OFFSET_WORDS, type PythonLayout, pythonLayout, pythonVersion, tellsPlaces, withToldPlaces } from "./layout.ts";

/** The program itself, or the library with all of it. */
const OBJECT = /\/(?:libpython3\.\d+\.so(?:\.[\d.]+)?|python3(?:\.\d+)?)$/;

export interface PythonInterpreter {
  /** As `3.11`; null where a version before 3.11 does not say. */
  readonly version: string | null;
  /** Null where that of its version is not known. */
  readonly layout: PythonLayout | null;
  /** Address of `_PyRuntime`. */
  readonly runtime: bigint;
}

/** Null where there is none whose symbols tell where it is, undefined where the process ends meanwhile. */
export function pythonInterpreter(
  pid: number,
  addressOf: AddressOf,
  read: ReadMemory,
): PythonInterpreter | null | undefined {
  const runtime = addressOf(pid, OBJECT, "_PyRuntime");
  if (runtime === null || runtime === undefined) return runtime;
  const versionAt = addressOf(pid, OBJECT, "Py_Version");
  if (versionAt === null) return { version: null, layout: null, runtime };
  const bytes = versionAt === undefined ? null : read(versionAt, 4);
  if (bytes === null) return undefined;
  const version = pythonVersion(new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true));
  const layout = pythonLayout(version);
  if (layout === null || !tellsPlaces(version)) return { version, layout, runtime };
  const places = read(runtime, 8 * OFFSET_WORDS);
  if (places === null) return undefined;
  return { version, layout: withToldPlaces(layout, new BigUint64Array(places.slice().buffer)), runtime };
}

/** An interpreter whose objects can be read, or why those of the process cannot: null where it is only that it ends. */
export type ReadableInterpreter =
  | { readonly layout: PythonLayout; readonly runtime: bigint }
  | { readonly untold: string | null };

/** The interpreter of a process, where it lies and where its objects have what is read of them is known. */
export function readableInterpreter(pid: number, addressOf: AddressOf, read: ReadMemory): ReadableInterpreter {
  const python = pythonInterpreter(pid, addressOf, read);
  if (python === undefined) return { untold: null };
  if (python === null)
    return { untold: "no Python interpreter was found in its process whose symbols say where it is" };
  const { layout, runtime, version } = python;
  if (layout === null) return { untold: `where the objects of Python ${version ?? "before 3.11"} lie is not known` };
  return { layout, runtime };
}
