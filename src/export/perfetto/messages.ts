/** The messages of a Perfetto trace that are written here, by the names and numbers of Perfetto's own definitions. */
import { Root } from "protobufjs/light";

/** Numbers of enumerations. */
export const SLICE_BEGIN = 1;
export const SLICE_END = 2;
export const COUNTER = 4;
export const CLOCK = { realtime: 1, monotonic: 3 } as const;
export const UNIT = { ns: 1, count: 2, bytes: 3 } as const;

/** A number of 64 bits as the encoder takes it. */
export interface Words {
  readonly low: number;
  readonly high: number;
  readonly unsigned: true;
}

export function words(value: bigint): Words {
  return { low: Number(value & 0xffffffffn) | 0, high: Number(value >> 32n) | 0, unsigned: true };
}

export interface Annotation {
  readonly name: string;
  readonly pointer_value?: Words;
  readonly uint_value?: Words;
  readonly double_value?: number;
  readonly string_value?: string;
  readonly bool_value?: boolean;
}

export interface Packet {
  readonly timestamp?: Words;
  readonly timestamp_clock_id?: number;
  readonly trusted_packet_sequence_id?: number;
  readonly clock_snapshot?: {
    readonly primary_trace_clock: number;
    readonly clocks: readonly { readonly clock_id: number; readonly timestamp: Words }[];
  };
  readonly track_descriptor?: {
    readonly uuid: Words;
    readonly parent_uuid?: Words;
    readonly name?: string;
    readonly process?: { readonly pid: number; readonly process_name: string };
    readonly counter?: { readonly unit: number };
  };
  readonly track_event?: {
    readonly type: number;
    readonly track_uuid: Words;
    readonly name?: string;
    readonly categories?: readonly string[];
    readonly counter_value?: Words;
    readonly debug_annotations?: readonly Annotation[];
  };
}

const field = (id: number, type: string) => ({ id, type });
const list = (id: number, type: string) => ({ id, type, rule: "repeated" });

const MESSAGES = {
  Trace: { fields: { packet: list(1, "TracePacket") } },
  TracePacket: {
    fields: {
      clock_snapshot: field(6, "ClockSnapshot"),
      timestamp: field(8, "uint64"),
      trusted_packet_sequence_id: field(10, "uint32"),
      track_event: field(11, "TrackEvent"),
      timestamp_clock_id: field(58, "uint32"),
      track_descriptor: field(60, "TrackDescriptor"),
    },
  },
  ClockSnapshot: { fields: { clocks: list(1, "Clock"), primary_trace_clock: field(2, "int32") } },
  Clock: { fields: { clock_id: field(1, "uint32"), timestamp: field(2, "uint64") } },
  TrackDescriptor: {
    fields: {
      uuid: field(1, "uint64"),
      name: field(2, "string"),
      process: field(3, "ProcessDescriptor"),
      parent_uuid: field(5, "uint64"),
      counter: field(8, "CounterDescriptor"),
    },
  },
  ProcessDescriptor: { fields: { pid: field(1, "int32"), process_name: field(6, "string") } },
  CounterDescriptor: { fields: { unit: field(3, "int32") } },
  TrackEvent: {
    fields: {
      debug_annotations: list(4, "DebugAnnotation"),
      type: field(9, "int32"),
      track_uuid: field(11, "uint64"),
      categories: list(22, "string"),
      name: field(23, "string"),
      counter_value: field(30, "int64"),
    },
  },
  DebugAnnotation: {
    fields: {
      bool_value: field(2, "bool"),
      uint_value: field(3, "uint64"),
      double_value: field(5, "double"),
      string_value: field(6, "string"),
      pointer_value: field(7, "uint64"),
      name: field(10, "string"),
    },
  },
};

/** Perfetto's definitions are of proto2, where a zero that was given is written. */
const nested = Object.fromEntries(
  Object.entries(MESSAGES).map(([name, message]) => [name, { edition: "proto2", ...message }]),
);
const Trace = Root.fromJSON({ nested }).resolveAll().lookupType("Trace");

/** The bytes of one packet; those of several, one after the other, are a trace. */
export function packetBytes(packet: Packet): Uint8Array {
  return Trace.encode({ packet: [packet] }).finish();
}
