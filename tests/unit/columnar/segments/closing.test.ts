import { describe, expect, test } from "bun:test";
import { openClosing } from "../../../../src/columnar/segments/closing.ts";
import type { Encoder, NewSegment, Outcome } from "../../../../src/columnar/segments/encoder.ts";
import type { StreamName } from "../../../../src/schema/columns.ts";
import { waitUntil } from "../../../fixtures/wait-until.ts";

const GROUPS = [["access", "watch"]] as const;

/** An encoder that writes nothing; `outcome` says what becomes of the next segments. */
function fakeEncoder(outcome: () => Outcome["failure"] = () => null) {
  const jobs: string[][] = [];
  const encoder: Encoder = {
    queuedBytes: 0,
    maxQueueBytes: 100,
    accepts: (bytes) => bytes <= 100,
    async submit(segments, note) {
      jobs.push([...segments.map(({ path }) => path), ...(note === null ? [] : [note.path])]);
      const failure = outcome();
      return { bytes: failure === null ? segments.map(() => 1) : [], failure };
    },
    async [Symbol.asyncDispose]() {},
  };
  return { encoder, jobs };
}

/** The rows of a stream, which are a number of bytes, and what became of them. */
function fakeSegment(table: StreamName, bytes: number) {
  const settled: (string | null)[] = [];
  const segment = {
    table,
    bytes,
    settled,
    take() {
      if (segment.bytes === 0) return null;
      segment.bytes = 0;
      const settle: NewSegment & { settle: (bytes: number, failure: Outcome["failure"]) => void } = {
        path: table,
        batch: { table, rows: 0, columns: {} },
        keyValues: new Map(),
        settle: (_, failure) => settled.push(failure?.errno ?? null),
      };
      return settle;
    },
  };
  return segment;
}

describe("segments that close together", () => {
  test("are one job when their time has come, those first that others need, and then what tells of them", async () => {
    const { encoder, jobs } = fakeEncoder();
    const told: string[] = [];
    const closing = openClosing({
      encoder,
      groups: GROUPS,
      maxAgeNs: 5e6,
      onClosing() {
        told.push("closing");
        return { note: { path: "note", text: "" }, onWritten: () => void told.push("in files") };
      },
    });
    for (const table of ["watch", "mapping", "access"] as const) closing.join(fakeSegment(table, 1));
    closing.begin();
    expect(await waitUntil(() => told.length === 2)).toBe(true);
    expect(told).toEqual(["closing", "in files"]);
    expect(jobs).toEqual([["mapping", "access", "watch", "note"]]);
    // Nothing has come since.
    await closing.finish();
    expect(jobs).toHaveLength(1);
  });

  test("are those of a group where one of them is full", async () => {
    const { encoder, jobs } = fakeEncoder();
    const closing = openClosing({ encoder, groups: GROUPS });
    for (const table of ["watch", "mapping", "access"] as const) closing.join(fakeSegment(table, 60));
    // Both of the group must find room.
    expect([closing.accepts("mapping"), closing.accepts("watch")]).toEqual([true, false]);
    closing.close("watch");
    closing.close("mapping");
    await closing.finish();
    expect(jobs).toEqual([["access", "watch"], ["mapping"]]);
  });

  test("are lost together where one cannot be written, and nothing is written after them", async () => {
    const { encoder, jobs } = fakeEncoder(() => ({ message: "no room", errno: "ENOSPC" }));
    const told: string[] = [];
    const closing = openClosing({
      encoder,
      groups: GROUPS,
      onClosing: () => ({ note: null, onWritten: () => void told.push("in files") }),
    });
    const [access, watch, fault] = [fakeSegment("access", 1), fakeSegment("watch", 1), fakeSegment("fault", 1)];
    for (const segment of [access, watch, fault]) closing.join(segment);
    closing.close("access");
    while (access.settled.length === 0) await Bun.sleep(1);
    await closing.finish();
    expect([access.settled, watch.settled, fault.settled]).toEqual([["ENOSPC"], ["ENOSPC"], ["ENOSPC"]]);
    expect(jobs).toEqual([["access", "watch"]]);
    expect(told).toEqual([]);
  });
});
