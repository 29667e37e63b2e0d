/** Tracks for things that may overlap: each goes to the first track that is free when it begins. */
import type { Annotation } from "./messages.ts";
import type { Track } from "./trace-writer.ts";

/** @param newTrack makes another track where all are taken @returns a track that takes slices in the order of their begin */
export function lanes(newTrack: () => Track): Track {
  /** Tracks with the moment from which each is free, the one that is free first on top. */
  const heap: { readonly track: Track; free_ns: bigint }[] = [];
  const free = (i: number): bigint => heap[i]?.free_ns ?? 0n;
  const swap = (a: number, b: number): void => {
    const kept = heap[a];
    const other = heap[b];
    if (kept === undefined || other === undefined) return;
    heap[a] = other;
    heap[b] = kept;
  };

  function sink(from: number): void {
    for (let i = from; ; ) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) if (child < heap.length && free(child) < free(least)) least = child;
      if (least === i) return;
      swap(i, least);
      i = least;
    }
  }

  function rise(from: number): void {
    for (let i = from; i > 0; ) {
      const parent = (i - 1) >> 1;
      if (free(parent) <= free(i)) return;
      swap(i, parent);
      i = parent;
    }
  }

  return {
    slice(name: string, begin_ns: bigint, end_ns: bigint, about: readonly Annotation[] = []): void {
      const first = heap[0];
      if (first !== undefined && first.free_ns <= begin_ns) {
        first.track.slice(name, begin_ns, end_ns, about);
        first.free_ns = end_ns;
        sink(0);
      } else {
        const track = newTrack();
        track.slice(name, begin_ns, end_ns, about);
        heap.push({ track, free_ns: end_ns });
        rise(heap.length - 1);
      }
    },
  };
}
