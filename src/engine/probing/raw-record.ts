/** The records that bpf/engine.bpf.c writes: a head, then the copied parts. */
import { recordLayout } from "../../schema/records.ts";
import type { Capture } from "./capture-table.ts";

const HEAD = recordLayout("engine_record");
const ARGS = HEAD.offsets.args;

/** One hit of a probe; `payload` is a view that is valid while the record is. */
export interface RawRecord {
  readonly timestamp_ns: bigint;
  /** Entry: the first five arguments. Return: the value first. */
  readonly args: readonly [bigint, bigint, bigint, bigint, bigint];
  readonly pid: number;
  readonly tid: number;
  /** Number of the probe in its engine. */
  readonly probe: number;
  readonly isReturn: boolean;
  /** Bit i is set where part i could not be read; its bytes are zeros. */
  readonly unreadable: number;
  readonly execEpoch: number;
  /** The parts of the probe's plan, without the last where a record may be without it. */
  readonly payload: DataView;
}

/**
 * Decodes the record at `offset`; null where the bytes are no record of ours.
 * @param captures by number: a payload is never read as another probe's
 */
export function decodeRecord(
  view: DataView,
  offset: number,
  length: number,
  captures: readonly Capture[],
): { readonly engine: number; readonly record: RawRecord } | null {
  if (length < HEAD.bytes || offset < 0 || offset + length > view.byteLength) return null;
  const { offsets: head } = HEAD;
  const word = (where: number) => view.getBigUint64(offset + where, true);
  const capture = captures[view.getUint16(offset + head.capture, true)];
  const isReturn = view.getUint16(offset + head.is_return, true) === 1;
  if (capture?.isReturn !== isReturn || length < HEAD.bytes + capture.plan.least) return null;
  const payloadBytes = Math.min(capture.plan.bytes, length - HEAD.bytes);
  const record: RawRecord = {
    timestamp_ns: word(head.timestamp_ns),
    args: [word(ARGS), word(ARGS + 8), word(ARGS + 16), word(ARGS + 24), word(ARGS + 32)],
    pid: view.getUint32(offset + head.pid, true),
    tid: view.getUint32(offset + head.tid, true),
    probe: capture.probe,
    isReturn,
    unreadable: view.getUint32(offset + head.unreadable, true),
    execEpoch: view.getUint32(offset + head.exec_epoch, true),
    payload: new DataView(view.buffer, view.byteOffset + offset + HEAD.bytes, payloadBytes),
  };
  return { engine: capture.engine, record };
}
