/** Names of threads, as memray numbers them. */

const MAX_THREADS = 1 << 16;

export interface ThreadNames {
  set(thread: number, name: string): void;
  get(thread: number): string | null;
}

/** No names yet; threads beyond the first 65,536 with a name stay without one. */
export function openThreadNames(): ThreadNames {
  const names = new Map<number, string>();
  return {
    set(thread, name) {
      if (names.size < MAX_THREADS || names.has(thread)) names.set(thread, name.slice(0, 256));
    },
    get: (thread) => names.get(thread) ?? null,
  };
}
