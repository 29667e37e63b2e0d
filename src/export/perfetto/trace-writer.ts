/** Writes the tracks of a Perfetto trace and what happens on them; times are ns of CLOCK_MONOTONIC. */
import type { NewFile } from "../new-file.ts";
import {
  type Annotation,
  CLOCK,
  COUNTER,
  type Packet,
  packetBytes,
  SLICE_BEGIN,
  SLICE_END,
  UNIT,
  type Words,
  words,
} from "./messages.ts";

/** All packets come from one writer. */
const SEQUENCE = 1;

export interface Track {
  /** Begins and ends something; what is on one track must not overlap but lie in one another. */
  slice(name: string, begin_ns: bigint, end_ns: bigint, about?: readonly Annotation[]): void;
}

export interface CounterTrack {
  /** The value from a moment on. */
  count(time_ns: bigint, value: bigint): void;
}

export interface TraceWriter {
  /** Says which moment of the wall clock a moment of CLOCK_MONOTONIC was; null where nobody knows. */
  clock(monotonic_ns: bigint, realtime_ns: bigint | null): void;
  process(pid: number, name: string): void;
  /** A track of a process, which was told before; null for one of the machine. */
  track(pid: number | null, name: string): Track;
  counter(pid: number | null, name: string, unit: keyof typeof UNIT): CounterTrack;
}

export function traceWriter(file: NewFile): TraceWriter {
  const processes = new Map<number, bigint>();
  let tracks = 0n;
  const write = (packet: Packet): void => file.write(packetBytes({ ...packet, trusted_packet_sequence_id: SEQUENCE }));

  /** Something that happened; the reader would take its time for one of another clock. */
  const event = (time_ns: bigint, track_event: NonNullable<Packet["track_event"]>): void =>
    write({ timestamp: words(time_ns), timestamp_clock_id: CLOCK.monotonic, track_event });

  function newTrack(pid: number | null, name: string, unit: keyof typeof UNIT | null) {
    const uuid = words(++tracks);
    const parent = pid === null ? undefined : processes.get(pid);
    write({
      track_descriptor: {
        uuid,
        name,
        ...(parent === undefined ? {} : { parent_uuid: words(parent) }),
        ...(unit === null ? {} : { counter: { unit: UNIT[unit] } }),
      },
    });
    return uuid;
  }

  return {
    clock(monotonic_ns, realtime_ns) {
      const clocks: { clock_id: number; timestamp: Words }[] = [
        { clock_id: CLOCK.monotonic, timestamp: words(monotonic_ns) },
      ];
      if (realtime_ns !== null) clocks.push({ clock_id: CLOCK.realtime, timestamp: words(realtime_ns) });
      write({ clock_snapshot: { primary_trace_clock: CLOCK.monotonic, clocks } });
    },
    process(pid, process_name) {
      const uuid = ++tracks;
      processes.set(pid, uuid);
      write({ track_descriptor: { uuid: words(uuid), process: { pid, process_name } } });
    },
    track(pid, name) {
      const track_uuid = newTrack(pid, name, null);
      return {
        slice(label, begin_ns, end_ns, about = []) {
          event(begin_ns, { type: SLICE_BEGIN, track_uuid, name: label, debug_annotations: about });
          event(end_ns, { type: SLICE_END, track_uuid });
        },
      };
    },
    counter(pid, name, unit) {
      const track_uuid = newTrack(pid, name, unit);
      return {
        count(time_ns, value) {
          event(time_ns, { type: COUNTER, track_uuid, counter_value: words(value) });
        },
      };
    },
  };
}
