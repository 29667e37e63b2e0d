import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Collector } from "../../../src/collect/collector.ts";
import type { Batch } from "../../../src/columnar/batch.ts";
import { tableBatches } from "../../../src/columnar/read/table-batches.ts";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { MOST_CUT_SHARE, STEADY_POLL_MS } from "../../../src/record/poll-pace.ts";
import { type RecorderOptions, type Recording, record, type StopReason } from "../../../src/record/recorder.ts";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import { balances, type LedgerRow } from "../../../src/schema/ledger.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-recorder-"));
afterAll(() => rmSync(root, { recursive: true }));

function faults(from: number, rows: number): Batch {
  const numbers = Array.from({ length: rows }, (_, i) => BigInt(from + i));
  return batchFromRows(
    "fault",
    numbers.map((n) => ({ timestamp_ns: n, address: n * 4096n, ip: n, pid: 1, tid: 1, fault_flags: 1, cpu: 0 })),
  );
}

const ledgerRow = (seen: number): LedgerRow => ({
  stream: "fault",
  source: "fault",
  stage: "ring",
  way: "fake",
  pid: null,
  seen,
  kept: seen,
  filtered: 0,
  dropped: 0,
  dropped_by: {},
  unseen_estimate: null,
});

interface Fake extends Collector {
  /** Rows given so far. */
  given: number;
  stops: number;
}

/** A collector of memory: `rows` faults at every poll and at its end; `onPoll` may do harm. */
function fakeCollector(rows: number, onPoll: (poll: number) => void = () => {}): Fake {
  let polls = 0;
  const give = (): Batch[] => {
    const batch = faults(fake.given, rows);
    fake.given += rows;
    return rows === 0 ? [] : [batch];
  };
  const fake: Fake = {
    name: "fake",
    given: 0,
    stops: 0,
    canRun: async () => ({ ok: true, sources: [], whyNotBetter: "", identifies: [], blindTo: "a fake" }),
    start: async () => {},
    batches() {
      onPoll(++polls);
      return give();
    },
    async stop() {
      fake.stops += 1;
      return fake.stops > 1 ? { batches: [], ledger: [] } : { batches: give(), ledger: [ledgerRow(fake.given)] };
    },
  };
  return fake;
}

const never = new Promise<StopReason>(() => {});

function recording(collectors: readonly Collector[], change: Partial<RecorderOptions> = {}) {
  const runDir = mkdtempSync(join(root, "run-"));
  const none = { onBatch: () => {}, onPoll: () => {} };
  const options = {
    isOwnProcess: true,
    starting: true,
    stopped: never,
    durationNs: 60e6,
    maxSizeBytes: 2 ** 40,
    ...none,
  };
  return { runDir, done: record({ runDir, collectors, ...options, ...change }) };
}

async function rowsIn(runDir: string): Promise<bigint[]> {
  const times: bigint[] = [];
  for await (const batch of readStream(runDir, "fault")) {
    const column = batch.columns.timestamp_ns;
    if (column && "data" in column) times.push(...(column.data as BigUint64Array));
  }
  return times;
}

/** The shortest that a steady rest may be: rests are of uneven length. */
const LEAST_REST_MS = STEADY_POLL_MS * (1 - MOST_CUT_SHARE) - 1;

describe("recording", () => {
  test("keeps every row of every poll and of the end, and its ledger balances", async () => {
    const [a, b] = [fakeCollector(100), fakeCollector(7)];
    let passed = 0;
    const { runDir, done } = recording([a, b], { onBatch: (batch) => (passed += batch.rows) });
    const result = await done;
    expect(result.rows.fault).toBe(a.given + b.given);
    expect(passed).toBe(result.rows.fault);
    expect(result.rows.mapping).toBe(0);
    expect(await rowsIn(runDir)).toHaveLength(result.rows.fault);
    expect(result.ledger.map((row) => [row.stage, row.kept, balances(row)])).toEqual([
      ["ring", a.given, true],
      ["ring", b.given, true],
      ["segments", result.rows.fault, true],
    ]);
    expect(result.bytes).toBeGreaterThan(0);
    expect(result.writeError).toBeNull();
    expect([a.stops, b.stops].every((stops) => stops >= 1)).toBe(true);
  });

  /** The shortest of some rests between two polls: a busy machine makes a rest longer, never shorter. */
  async function shortestRestMs(rests: number, rows: number, more: Pick<Collector, "patienceMs" | "holds"> = {}) {
    const times: number[] = [];
    const enough = Promise.withResolvers<StopReason>();
    const polled = (): void => {
      if (times.push(performance.now()) > rests) enough.resolve("interrupted");
    };
    const collectors = [{ ...fakeCollector(rows, polled), ...more }, fakeCollector(0)];
    await recording(collectors, { starting: false, stopped: enough.promise, durationNs: undefined }).done;
    return Math.min(...times.slice(1).map((time, i) => time - (times[i] ?? 0)));
  }

  test("comes as often as the least patient collector asks, once the target has started", async () => {
    expect(await shortestRestMs(6, 0)).toBeGreaterThan(LEAST_REST_MS);
    expect(await shortestRestMs(6, 0, { patienceMs: () => Infinity })).toBeGreaterThan(LEAST_REST_MS);
    const impatient = await shortestRestMs(40, 0, { patienceMs: () => 10 });
    expect(impatient).toBeGreaterThan(5);
    expect(impatient).toBeLessThan(STEADY_POLL_MS / 2);
  });

  test("comes soon where a collector fills up, by what that collector says that it may hold of a stream", async () => {
    expect(await shortestRestMs(6, 100, { holds: () => ({ fault: 10_000 }) })).toBeGreaterThan(LEAST_REST_MS);
    expect(await shortestRestMs(6, 100, { holds: () => ({ mapping: 1 }) })).toBeGreaterThan(LEAST_REST_MS);
    // Half of what comes at a poll is all that may come between two.
    expect(await shortestRestMs(40, 100, { holds: () => ({ fault: 50 }) })).toBeLessThan(STEADY_POLL_MS / 2);
  });

  test("lets collectors do what is best done last once all of them gave what they had", async () => {
    const calls: string[] = [];
    const [first, second] = [fakeCollector(3, () => calls.push("first")), fakeCollector(3, () => calls.push("second"))];
    const last = { ...first, beforeRest: () => calls.push("last") > 0 };
    const onPoll = (): void => void calls.push("told");
    await recording([last, second], { onBatch: () => void calls.push("taken"), onPoll }).done;
    const round = ["first", "taken", "second", "taken", "told", "last"];
    expect(calls.slice(0, 2 * round.length)).toEqual([...round, ...round]);
  });

  test("rests at once where a watch has begun, and leaves the event loop to a program that called it", async () => {
    const turnsWith = async (hasBegun: boolean, isOwnProcess: boolean): Promise<number> => {
      let turns = 0;
      const other = setInterval(() => turns++, 1);
      const quick = { ...fakeCollector(0), patienceMs: () => 5, beforeRest: () => hasBegun };
      await recording([quick], { starting: false, isOwnProcess, durationNs: 400e6 }).done;
      clearInterval(other);
      return turns;
    };
    const blind = await turnsWith(true, true);
    for (const [hasBegun, isOwnProcess] of [
      [false, true],
      [true, false],
    ] as const) {
      expect(await turnsWith(hasBegun, isOwnProcess)).toBeGreaterThan(1.2 * blind);
    }
  });

  test("ends after its time", async () => {
    const result = await recording([fakeCollector(1)], { durationNs: 50e6 }).done;
    expect(result.reason).toBe("duration");
    expect(result.end_ns - result.begin_ns).toBeGreaterThanOrEqual(50_000_000n);
  });

  test("lets all collectors look away before any is stopped, which takes time, the last to start first", async () => {
    const order: string[] = [];
    const named = (name: string): Collector => {
      const fake = fakeCollector(0);
      return {
        ...fake,
        leave: () => void order.push(`${name} leaves`),
        stop() {
          order.push(`${name} stops`);
          return fake.stop();
        },
      };
    };
    await recording([named("programs"), named("samples")]).done;
    expect(order.slice(0, 4)).toEqual(["samples leaves", "programs leaves", "programs stops", "samples stops"]);
  });

  test("ends when told to, with the reason that it was told", async () => {
    for (const why of ["target_ended", "interrupted", "terminated"] as const) {
      const stopped = Bun.sleep(20).then((): StopReason => why);
      expect((await recording([fakeCollector(1)], { stopped, durationNs: undefined }).done).reason).toBe(why);
    }
  });

  test("ends when its files are as large as they may be, soon after, with every row in them", async () => {
    // 2^18 rows fill a segment, so that files grow while it records.
    const collector = fakeCollector(1 << 14);
    const { runDir, done } = recording([collector], { maxSizeBytes: 1000, durationNs: 60e9 });
    const result = await done;
    expect(result.reason).toBe("max_size");
    expect(result.bytes).toBeGreaterThanOrEqual(1000);
    const { kept, dropped } = result.ledger.find((row) => row.stage === "segments") ?? ledgerRow(-1);
    expect(kept + dropped).toBe(collector.given);
    expect(await rowsIn(runDir)).toHaveLength(kept);
  });

  test("tells how it goes at every poll", async () => {
    const states: number[] = [];
    const enough = Promise.withResolvers<StopReason>();
    const onPoll: RecorderOptions["onPoll"] = ({ rows }) => {
      if (states.push(rows.fault) === 3) enough.resolve("interrupted");
    };
    const result = await recording([fakeCollector(3)], { stopped: enough.promise, durationNs: undefined, onPoll }).done;
    expect(states.length).toBeGreaterThanOrEqual(3);
    expect(states).toEqual(states.map((_, i) => 3 * (i + 1)));
    expect(result.slowest_poll_ms).toBeGreaterThan(0);
  });

  test("tells what collectors lost while it goes on, and not at its end alone", async () => {
    let ring_full = 5;
    const row = () => ({ ...ledgerRow(9), seen: 9 + ring_full, dropped: ring_full, dropped_by: { ring_full } });
    const collector = { ...fakeCollector(10), account: () => [row()] };
    const told = new Set<number>();
    const enough = Promise.withResolvers<StopReason>();
    const onPoll: RecorderOptions["onPoll"] = ({ dropped }) => {
      told.add(dropped);
      ring_full = 12;
      if (dropped === 12) enough.resolve("interrupted");
    };
    const { done } = recording([collector], { stopped: enough.promise, durationNs: 5e9, onPoll });
    expect((await done).reason).toBe("interrupted");
    expect([...told]).toEqual([5, 12]);
  });

  test("says all the time what is in files by then, for the case that it is not there to say so at the end", async () => {
    const collector = { ...fakeCollector(10), account: () => [ledgerRow(collector.given + 5)] };
    const path = join(mkdtempSync(join(root, "note-")), "note.json");
    const notes: Pick<Recording, "reason" | "rows" | "ledger">[] = [];
    const text = ({ reason, rows, ledger }: Recording): string => JSON.stringify({ reason, rows, ledger });
    const enough = Promise.withResolvers<StopReason>();
    const onPoll = (): void => {
      if (!existsSync(path)) return;
      notes.push(JSON.parse(readFileSync(path, "utf8")));
      enough.resolve("interrupted");
    };
    const change = { note: { path, text }, onPoll, stopped: enough.promise, durationNs: undefined };
    const { runDir, done } = recording([collector], change);
    expect((await done).reason).toBe("interrupted");
    const [note] = notes;
    expect(note?.reason).toBe("killed");
    expect(note?.ledger.map(({ stage, seen, kept }) => [stage, seen === kept])).toEqual([
      ["ring", true],
      ["segments", true],
    ]);
    const [first] = listSegments(runDir, "fault");
    const inFirst = [...tableBatches(first?.path ?? "", "fault")].reduce((sum, { rows }) => sum + rows, 0);
    expect(note?.rows.fault).toBe(inFirst);
  });

  test("writes nothing for a run without events", async () => {
    const result = await recording([fakeCollector(0)]).done;
    expect([result.bytes, result.rows.fault]).toEqual([0, 0]);
  });
});

describe("recording that fails half-way", () => {
  test("stops every collector and keeps what was measured before", async () => {
    const good = fakeCollector(10);
    const bad = fakeCollector(5, (poll) => {
      if (poll === 3) throw new Error("the third poll fails");
    });
    // On a busy machine the third poll may be long in coming.
    const { runDir, done } = recording([good, bad], { durationNs: 60e9 });
    expect(await done.catch((error: unknown) => error)).toMatchObject({ message: "the third poll fails" });
    expect([good.stops >= 1, bad.stops >= 1]).toEqual([true, true]);
    expect((await rowsIn(runDir)).length).toBeGreaterThanOrEqual(3 * 10 + 2 * 5);
  });

  test("stops every collector when one cannot stop in order", async () => {
    const [bad, good] = [fakeCollector(1), fakeCollector(1)];
    bad.stop = async () => {
      throw new Error("cannot stop");
    };
    const error = await recording([bad, good]).done.catch((caught: unknown) => caught);
    expect(String(error)).toContain("cannot stop");
    expect(good.stops).toBeGreaterThanOrEqual(1);
  });

  test("stops every collector when a stream has no place to go", async () => {
    const collector = fakeCollector(1);
    const runDir = mkdtempSync(join(root, "run-"));
    writeFileSync(join(runDir, "capture"), "a file where a folder should be");
    const { done } = recording([collector], { runDir });
    expect(await done.catch((error: unknown) => error)).toMatchObject({ code: "failure" });
    expect(collector.stops).toBeGreaterThanOrEqual(1);
  });
});
