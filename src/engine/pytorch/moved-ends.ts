/**
 * How caches that move end: with their memory, unless a cache of the same shape comes from nowhere a moment later, which may be that one, made
 * anew by what is not probed, as where a batch is reordered. Then nobody knows what became of its rows.
 */

/** A cache whose memory is gone. */
export interface EndedCache {
  readonly number: number;
  readonly shape: string;
  /** When it was last known to be there. */
  readonly alive_ns: bigint;
  readonly tid: number;
}

/** One that is decided. */
export interface DecidedEnd extends EndedCache {
  readonly isLost: boolean;
}

export interface MovedEnds {
  end(cache: EndedCache): void;
  /** It was moved by something that is not known. */
  lose(cache: EndedCache): void;
  /** A cache with rows of which nobody knows where they come from. */
  appear(shape: string, time_ns: bigint): void;
  /** What is decided by now. */
  takeUntil(now_ns: bigint): readonly DecidedEnd[];
}

/** So long after its end a cache may come again. */
const AGAIN_NS = 60_000_000_000n;
/** Ends that wait, and shapes: what is more is decided early. */
const MOST = 4096;

/** None yet. */
export function movedEnds(): MovedEnds {
  let waiting: EndedCache[] = [];
  let decided: DecidedEnd[] = [];
  /** When a cache of such a shape came from nowhere last. */
  const appeared = new Map<string, bigint>();

  const mayBe = ({ alive_ns }: EndedCache, time_ns: bigint): boolean =>
    alive_ns < time_ns && time_ns < alive_ns + AGAIN_NS;

  function decide(cache: EndedCache): void {
    decided.push({ ...cache, isLost: mayBe(cache, appeared.get(cache.shape) ?? 0n) });
  }

  return {
    end(cache) {
      waiting.push(cache);
      if (waiting.length > MOST) for (const first of waiting.splice(0, 1)) decide(first);
    },
    lose: (cache) => void decided.push({ ...cache, isLost: true }),
    appear(shape, time_ns) {
      const isMine = (one: EndedCache): boolean => one.shape === shape && mayBe(one, time_ns);
      for (const cache of waiting.filter(isMine)) decided.push({ ...cache, isLost: true });
      waiting = waiting.filter((one) => !isMine(one));
      if (appeared.size >= MOST) appeared.clear();
      appeared.set(shape, time_ns);
    },
    takeUntil(now_ns) {
      for (const cache of waiting) if (cache.alive_ns + AGAIN_NS < now_ns) decide(cache);
      waiting = waiting.filter((cache) => cache.alive_ns + AGAIN_NS >= now_ns);
      const taken = decided;
      decided = [];
      return taken;
    },
  };
}
