/** How far the kernel's high-water mark of the resident memory of a process may be off. */

const PAGE_BYTES = 4096;
/** Anonymous memory, pages of files, shared memory. */
const KINDS = 3;
const LEAST_BATCH_PAGES = 32;

/**
 * Since Linux 6.2 the mark sums the pages of each kind without what each CPU has counted by itself, which is no more than a batch
 * (lib/percpu_counter.c).
 * @param cpus of the machine; nothing is allowed for where nobody knows
 */
export function markSlackBytes(cpus: number | null | undefined): number {
  const each = cpus ?? 0;
  return KINDS * Math.max(LEAST_BATCH_PAGES, 2 * each) * each * PAGE_BYTES;
}
