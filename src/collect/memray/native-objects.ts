/** The objects that were mapped while native stacks were taken: an instruction gives its file and its place in it. */

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
      let low = 0;
      let high = segments.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((segments[middle]?.begin ?? 0) <= instruction) low = middle + 1;
        else high = middle;
      }
      const found = segments[low - 1];
      return found !== undefined && instruction < found.end ? found : null;
    },
  };
}
