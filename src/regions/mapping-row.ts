/** The rows that go into the map of a process tree and the rows that come out of it. */

import type { RowOf, WordOf } from "../schema/row.ts";
import type { MappingKind } from "../schema/words.ts";

/**
 * What happens to the map: a row of the `mapping` table. `flags` has CLONE_ bits for a fork where they are known,
 * and a null `result` counts as success.
 */
export type MappingEvent = RowOf<"mapping">;

/** A row with nothing but who and when; the kinds fill in what they have. */
export function emptyMappingEvent(kind: WordOf<"mapping", "kind">, timestamp_ns: bigint, pid: number): MappingEvent {
  return {
    timestamp_ns,
    pid,
    tid: pid,
    exec_epoch: 0,
    kind,
    addr: 0n,
    size_bytes: 0n,
    old_addr: null,
    old_size_bytes: null,
    prot: null,
    flags: null,
    file_offset_bytes: null,
    dev: null,
    inode: null,
    path: null,
    result: null,
    child_pid: null,
    begin_ns: null,
    end_ns: null,
  };
}

/** How bytes of a mapping left an address; `moved` is the only one after which they live on, elsewhere. */
export type EndedBy = "munmap" | "replaced" | "moved" | "brk" | "exec" | "exit" | "snapshot";

/** Bytes [addr, addr + size_bytes) of one mapping over one stay at that address. */
export interface MappingRow {
  readonly pid: number;
  readonly exec_epoch: number;
  /** Stays the same when the mapping is split, protected, grown or moved; new for a fork's copy. */
  readonly mapping_id: number;
  readonly addr: bigint;
  readonly size_bytes: bigint;
  readonly prot: number;
  /** All protections that these bytes had since they came to this address, as far as we know. */
  readonly prot_ever: number;
  readonly flags: number;
  readonly dev: number | null;
  readonly inode: bigint | null;
  readonly file_offset_bytes: bigint | null;
  readonly path: string | null;
  readonly mapping_kind: MappingKind;
  /** When these bytes were mapped, wherever they were then. */
  readonly birth_ns: bigint;
  /** True when they were there before we looked. */
  readonly birth_censored: boolean;
  /** When they came to this address: later than `birth_ns` only after a move. */
  readonly since_ns: bigint;
  /** When they left this address; null while they are there. */
  readonly death_ns: bigint | null;
  readonly ended_by: EndedBy | null;
}

/** Of a fork: the child lives in the address space of its parent. */
export const CLONE_VM = 0x100;
export const CLONE_THREAD = 0x10000;

export const MAP_SHARED = 0x01;
export const MAP_PRIVATE = 0x02;
export const MAP_TYPE = 0x0f;
export const MAP_ANONYMOUS = 0x20;
export const MAP_GROWSDOWN = 0x100;
export const MAP_STACK = 0x20000;
export const MAP_HUGETLB = 0x40000;

/** True when writes reach the file or other processes. */
export function isShared(flags: number): boolean {
  const type = flags & MAP_TYPE;
  return type === MAP_SHARED || type === (MAP_SHARED | MAP_PRIVATE);
}

/** What the kernel calls the first stack of a program. */
export const STACK = "[stack]";
const KERNEL_NAMES = new Set(["[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]", "[vectors]", "[uprobes]"]);
const SHMEM_PREFIXES = ["/dev/zero", "/memfd:", "/SYSV", "/dev/shm/", "[anon_shmem:"];

/** Kind of a mapping by its flags and its name. */
export function mappingKindOf(flags: number, path: string | null): MappingKind {
  if (path !== null) {
    if (path === "[heap]") return "heap";
    if (path === STACK || path.startsWith("[stack:")) return "stack";
    if (KERNEL_NAMES.has(path)) return "vdso";
    if (SHMEM_PREFIXES.some((prefix) => path.startsWith(prefix))) return "shmem";
    if (path.startsWith("[anon:")) return "anon";
  }
  if ((flags & MAP_ANONYMOUS) === 0) return "file";
  if (isShared(flags)) return "shmem";
  return (flags & (MAP_STACK | MAP_GROWSDOWN)) !== 0 ? "stack" : "anon";
}

/** MAP_ bits of a mapping that was seen, not made before our eyes: by /proc/PID/maps or by the sideband. */
export function observedFlags(shared: boolean, inode: bigint, path: string | null): number {
  // The kernel backs shared and huge anonymous memory by files of its own.
  const kernelFile = path !== null && (path.startsWith("/dev/zero (deleted)") || path.startsWith("/anon_hugepage"));
  const anonymous = inode === 0n || (kernelFile && (shared || path?.startsWith("/anon_hugepage")));
  const huge = anonymous && path?.startsWith("/anon_hugepage") ? MAP_HUGETLB : 0;
  const grows = path === STACK ? MAP_GROWSDOWN : 0;
  return (shared ? MAP_SHARED : MAP_PRIVATE) | (anonymous ? MAP_ANONYMOUS : 0) | huge | grows;
}
