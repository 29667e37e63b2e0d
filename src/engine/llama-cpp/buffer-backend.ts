/** Which backend of ggml keeps a buffer, by the library in which the functions of the buffer lie. */
import type { ReadMemory } from "../engine.ts";

/**
 * Offset of `get_base` in ggml_backend_buffer (ggml-backend-impl.h). What frees a buffer tells less: memory of the process
 * that a card has pinned is freed by its backend, and else is that of any buffer of the CPU.
 */
const BASE_FUNCTION = 8n;
const LIBRARY = /\/libggml-([a-z][a-z0-9]*)[^/]*\.so[^/]*$/;
/** Whose buffers lie in the memory of the process: where its functions are those of ggml itself, or compute on the CPU. */
const OF_PROCESS: ReadonlySet<string> = new Set(["base", "cpu", "blas"]);
/** Functions that are kept: a backend has one or two. */
const FUNCTION_LIMIT = 64;

/** The backend with memory of its own, such as `cuda`, whose library lies at a path; null for another. */
export function libraryBackend(path: string): string | null {
  const name = LIBRARY.exec(path)?.[1] ?? null;
  return name === null || OF_PROCESS.has(name) ? null : name;
}

/** @param pathAt asked once for each function of buffers: the path of the object that is mapped there @returns the name of a backend with memory of its own; null for none */
export function bufferBackends(
  pathAt: (addr: bigint) => string | null,
): (handle: bigint, read: ReadMemory) => string | null {
  const names = new Map<bigint, string | null>();
  return (handle, read) => {
    const bytes = read(handle + BASE_FUNCTION, 8);
    if (bytes === null || bytes.length < 8) return null;
    const code = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
    const existing = names.get(code);
    if (existing !== undefined) return existing;
    const backend = libraryBackend(pathAt(code) ?? "");
    if (names.size >= FUNCTION_LIMIT) names.clear();
    names.set(code, backend);
    return backend;
  };
}
