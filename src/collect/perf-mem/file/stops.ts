/** How long the kernel had stopped an event for its rate, and how many samples it did not take then. */

/** The longest tick (HZ=100), up to which an event stays stopped; one that runs again later had no CPU before. */
const LONGEST_TICK_NS = 10_000_000;
/** More CPUs and threads than this no machine has: what is told of others is left out. */
const MOST_STREAMS = 1 << 16;
/** The same of all events together, of which there may be many. */
const MOST_STREAMS_OF_ALL = 1 << 18;
/** Of an event that was stopped for nearly all of the time nobody knows how much it would have seen. */
const MOST_STOPPED = 0.99;

export interface Stops {
  /** One CPU or thread of the event is stopped at a time, or runs again. */
  stopped(stream: string, time_ns: bigint): void;
  resumed(stream: string, time_ns: bigint): void;
  /**
   * Samples that were not taken: as many as in the rest of the time, at least, since only what is dense is stopped.
   * @param samples that the event took from `first_ns` to `last_ns`
   */
  unseen(samples: number, first_ns: bigint, last_ns: bigint): number;
}

/** How many streams are left to events that share them. */
export interface StreamRoom {
  left: number;
}

export const streamRoom = (): StreamRoom => ({ left: MOST_STREAMS_OF_ALL });

/** @param room shared with the other events of a file */
export function createStops(room: StreamRoom = streamRoom()): Stops {
  const since = new Map<string, bigint>();
  const streams = new Set<string>();
  let whole_ns = 0;
  const lengthOf = (begin_ns: bigint, end_ns: bigint): number =>
    Math.min(LONGEST_TICK_NS, Math.max(0, Number(end_ns - begin_ns)));
  const close = (stream: string, time_ns: bigint): void => {
    const begin_ns = since.get(stream);
    if (begin_ns === undefined) return;
    since.delete(stream);
    whole_ns += lengthOf(begin_ns, time_ns);
  };
  return {
    stopped(stream, time_ns) {
      close(stream, time_ns);
      if (!streams.has(stream)) {
        if (streams.size === MOST_STREAMS || room.left === 0) return;
        room.left -= 1;
        streams.add(stream);
      }
      since.set(stream, time_ns);
    },
    resumed: close,
    unseen(samples, first_ns, last_ns) {
      let stopped_ns = whole_ns;
      for (const begin_ns of since.values()) stopped_ns += lengthOf(begin_ns, last_ns);
      const all_ns = streams.size * Number(last_ns - first_ns);
      const share = all_ns > 0 ? Math.min(MOST_STOPPED, stopped_ns / all_ns) : 0;
      return (samples * share) / (1 - share);
    },
  };
}
