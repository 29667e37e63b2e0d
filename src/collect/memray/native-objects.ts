/** The objects that were mapped while native stacks were taken: an instruction gives its file and its place in it. */
import { firstIndex } from "../../statistics/first-index.ts";

const MAX_SEGMENTS = 1 << 16;

export interface NativeSegment {
  readonly begin: number;
  readonly end: number;
  readonly file: string;
  /** Where the object lies: its addresses are counted from here. */
  readonly base: number;
}

export interface NativeObjects {
  /** Forgets all objects: a new list begins. */
  clear(): void;
  add(segment: NativeSegment): void;
  find(instruction: number): NativeSegment | null;
}

/** No objects yet. */
export function openNativeObjects(): NativeObjects {
  let segments: NativeSegment[] = [];
  let sorted = true;
  return {
    clear() {
      segments = [];
      sorted = true;
    },
    add(segment) {
      if (segments.length >= MAX_SEGMENTS) return;
      segments.push(segment);
      sorted = false;
    },
    find(instruction) {
      if (!sorted) segments.sort((a, b) => a.begin - b.begin);
      sorted = true;
      const found = segments[firstIndex(segments.length, (i) => (segments[i]?.begin ?? 0) <= instruction) - 1];
      return found !== undefined && instruction < found.end ? found : null;
    },
  };
}
