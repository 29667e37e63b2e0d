/** The functions that memray hooks, in one numbering for all versions of its file. */

export const ALLOCATORS = [
  "unknown",
  "malloc",
  "free",
  "calloc",
  "realloc",
  "posix_memalign",
  "aligned_alloc",
  "memalign",
  "valloc",
  "pvalloc",
  "mmap",
  "munmap",
  "pymalloc_malloc",
  "pymalloc_calloc",
  "pymalloc_realloc",
  "pymalloc_free",
] as const;

export type Allocator = (typeof ALLOCATORS)[number];

export const FREE = ALLOCATORS.indexOf("free");
export const MMAP = ALLOCATORS.indexOf("mmap");
export const MUNMAP = ALLOCATORS.indexOf("munmap");
export const PYMALLOC_FREE = ALLOCATORS.indexOf("pymalloc_free");

/** How versions 12 and 13 number them: those that are most often written fit three bits. */
const SINCE_12: readonly Allocator[] = [
  "unknown",
  "pymalloc_free",
  "pymalloc_malloc",
  "pymalloc_calloc",
  "pymalloc_realloc",
  "free",
  "malloc",
  "realloc",
  "calloc",
  "posix_memalign",
  "aligned_alloc",
  "memalign",
  "valloc",
  "pvalloc",
  "mmap",
  "munmap",
];

/** `numbering[id of the file]` is an index of ALLOCATORS; 0 for an id that the version does not have. */
export function allocatorNumbering(version: number): Uint8Array {
  const numbering = new Uint8Array(256);
  const names = version <= 11 ? ALLOCATORS : SINCE_12;
  for (const [id, name] of names.entries()) numbering[id] = ALLOCATORS.indexOf(name);
  return numbering;
}
