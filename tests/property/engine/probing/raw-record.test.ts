import { expect, test } from "bun:test";
import fc from "fast-check";
import { capturePlan } from "../../../../src/engine/probing/capture-plan.ts";
import { decodeRecord } from "../../../../src/engine/probing/raw-record.ts";
import { recordLayout } from "../../../../src/schema/records.ts";

const { offsets, bytes: HEAD_BYTES } = recordLayout("engine_record");
const CAPTURES = [
  { engine: 0, probe: 3, isReturn: false, plan: capturePlan({ form: "bytes", from: 0, bytes: 40 }) },
  { engine: 1, probe: 3, isReturn: true, plan: capturePlan() },
] as const;

function recordBytes(capture: number, isReturn: number, payload: Uint8Array): DataView {
  const bytes = new Uint8Array(new ArrayBuffer(HEAD_BYTES + payload.length));
  const view = new DataView(bytes.buffer);
  view.setBigUint64(offsets.timestamp_ns, 77n, true);
  view.setBigUint64(offsets.args + 16, 5n, true);
  view.setUint32(offsets.pid, 7, true);
  view.setUint32(offsets.tid, 8, true);
  view.setUint16(offsets.capture, capture, true);
  view.setUint16(offsets.is_return, isReturn, true);
  view.setUint32(offsets.unreadable, 1, true);
  view.setUint32(offsets.exec_epoch, 2, true);
  bytes.set(payload, HEAD_BYTES);
  return view;
}

test("a record has its probe, its engine and the parts of its plan, not what lies behind them", () => {
  const view = recordBytes(0, 0, new Uint8Array(128).fill(9));
  const found = decodeRecord(view, 0, view.byteLength, CAPTURES);
  expect(found).toMatchObject({
    engine: 0,
    record: { timestamp_ns: 77n, args: [0n, 0n, 5n, 0n, 0n], pid: 7, tid: 8, probe: 3, isReturn: false, unreadable: 1 },
  });
  expect([found?.record.execEpoch, found?.record.payload.byteLength, found?.record.payload.getUint8(39)]).toEqual([
    2, 40, 9,
  ]);
});

test("a payload is never read as another probe's: a number that is not in the table or a wrong side is no record", () => {
  fc.assert(
    fc.property(fc.nat(3), fc.nat(2), fc.uint8Array({ maxLength: 60 }), (capture, isReturn, payload) => {
      const view = recordBytes(capture, isReturn, payload);
      const found = decodeRecord(view, 0, view.byteLength, CAPTURES);
      const known = CAPTURES[capture];
      const fits = known !== undefined && payload.length >= known.plan.bytes && known.isReturn === (isReturn === 1);
      expect(found !== null).toBe(fits);
    }),
  );
});

test("bytes that are no whole record are refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: -8, max: 300 }), fc.nat(400), (bytes, at, n) => {
      const found = decodeRecord(new DataView(bytes.slice().buffer), at, n, CAPTURES);
      if (found) expect(found.record.payload.byteLength + HEAD_BYTES).toBeLessThanOrEqual(n);
    }),
    { numRuns: 1000 },
  );
});
