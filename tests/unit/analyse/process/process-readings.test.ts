import { describe, expect, test } from "bun:test";
import { spanOf } from "../../../../src/analyse/input/span.ts";
import { spanSlices } from "../../../../src/analyse/input/span-slices.ts";
import { type ProcessReading, processReadings } from "../../../../src/analyse/process/process-readings.ts";

const MS = 1e6;
const MIB = 2 ** 20;

function reading(time_ms: number, over: Partial<ProcessReading> = {}): ProcessReading {
  return {
    time_ns: time_ms * MS,
    pid: 1,
    is_target: true,
    rss_bytes: 0,
    rss_anon_bytes: 0,
    rss_file_bytes: 0,
    rss_shmem_bytes: 0,
    rss_peak_bytes: 0,
    pss_bytes: null,
    vms_bytes: 1,
    cpu_user_ns: 0,
    cpu_system_ns: 0,
    minor_faults: 0,
    major_faults: 0,
    ...over,
  };
}

/** The whole of a run of one second, then its halves. */
const SPANS = [
  spanOf("all", "all", [[0, 1000 * MS]]),
  spanOf("weight_load", "all", [[0, 500 * MS]]),
  spanOf("idle", "all", [[500 * MS, 1000 * MS]]),
];

function sums(
  readings: readonly ProcessReading[],
  born: (pid: number) => number | null = () => null,
  endFrom: (pid: number, time_ns: number) => number | null = () => null,
) {
  const all = processReadings(spanSlices(SPANS, 1000 * MS), born, () => {}, endFrom);
  for (const one of readings) all.take(one);
  const [whole, load, idle] = all.end();
  if (!whole || !load || !idle) throw new Error("three spans have three sums");
  return { whole, load, idle };
}

describe("the peak of one process", () => {
  const used = sums([
    reading(0, { rss_bytes: 8 * MIB, rss_peak_bytes: 8 * MIB }),
    // 64 MiB came and went before this reading.
    reading(400, { rss_bytes: 10 * MIB, rss_peak_bytes: 72 * MIB }),
    reading(600, { rss_bytes: 12 * MIB, rss_peak_bytes: 72 * MIB }),
    reading(1000, { rss_bytes: 20 * MIB, rss_peak_bytes: 72 * MIB }),
  ]);

  test("is the kernel's mark, also where no reading saw so much", () => {
    expect([used.whole.peak_lo_bytes, used.whole.peak_hi_bytes]).toEqual([72 * MIB, 72 * MIB]);
    expect(used.whole.most.rss_bytes).toBe(20 * MIB);
  });

  test("is exact in the phase in which the mark rose", () => {
    expect([used.load.peak_lo_bytes, used.load.peak_hi_bytes]).toEqual([72 * MIB, 72 * MIB]);
  });

  test("lies between what was read and the mark in a later phase", () => {
    expect([used.idle.peak_lo_bytes, used.idle.peak_hi_bytes]).toEqual([20 * MIB, 72 * MIB]);
  });

  test("has no upper end in a recording without the mark", () => {
    const old = sums([reading(0, { rss_peak_bytes: null }), reading(300, { rss_bytes: MIB, rss_peak_bytes: null })]);
    expect([old.whole.peak_lo_bytes, old.whole.peak_hi_bytes]).toEqual([MIB, null]);
  });

  test("begins anew with the program that exec brings", () => {
    const { whole } = sums([
      reading(0, { rss_bytes: 50 * MIB, rss_peak_bytes: 50 * MIB }),
      reading(100, { rss_bytes: 4 * MIB, rss_peak_bytes: 5 * MIB }),
    ]);
    expect([whole.peak_lo_bytes, whole.peak_hi_bytes]).toEqual([50 * MIB, 50 * MIB]);
  });
});

describe("several processes", () => {
  test("have at one moment at least what one reading says, and at most the sum of their marks", () => {
    const { whole } = sums([
      reading(0, { pid: 1, rss_bytes: 5 * MIB, rss_peak_bytes: 5 * MIB }),
      reading(100, { pid: 1, rss_bytes: 6 * MIB, rss_peak_bytes: 9 * MIB }),
      reading(101, { pid: 2, rss_bytes: 3 * MIB, rss_peak_bytes: 4 * MIB }),
      reading(200, { pid: 1, rss_bytes: 6 * MIB, rss_peak_bytes: 9 * MIB }),
      reading(201, { pid: 2, rss_bytes: 3 * MIB, rss_peak_bytes: 4 * MIB }),
    ]);
    expect(whole.processes).toBe(2);
    expect(whole.most.rss_bytes).toBe(9 * MIB);
    expect([whole.peak_lo_bytes, whole.peak_hi_bytes]).toEqual([9 * MIB, 13 * MIB]);
  });

  test("that live one after the other are not added up", () => {
    const { whole } = sums([
      reading(0, { pid: 1, rss_bytes: 5 * MIB, rss_peak_bytes: 5 * MIB }),
      reading(0, { pid: 9, is_target: false }),
      reading(100, { pid: 9, is_target: false }),
      reading(200, { pid: 9, is_target: false }),
      reading(200, { pid: 2, rss_bytes: 7 * MIB, rss_peak_bytes: 7 * MIB }),
      reading(300, { pid: 9, is_target: false }),
    ]);
    // Each held more behind its last reading, if it did, than anybody read.
    expect([whole.peak_lo_bytes, whole.peak_hi_bytes, whole.read_peak_bytes]).toEqual([7 * MIB, null, 7 * MIB]);
  });

  test("the tracer is none of them", () => {
    const { whole } = sums([reading(0), reading(0, { pid: 9, is_target: false, rss_bytes: 99 * MIB })]);
    expect([whole.processes, whole.most.rss_bytes]).toEqual([1, 0]);
  });
});

describe("what a counter grew by", () => {
  test("is shared out by time at the end of a span, with ends that hold whenever it grew", () => {
    const { whole, load, idle } = sums([
      reading(0, { cpu_user_ns: 100 }),
      reading(400, { cpu_user_ns: 500 }),
      reading(600, { cpu_user_ns: 700 }),
      reading(1000, { cpu_user_ns: 1000 }),
    ]);
    expect(whole.growth.cpu_user_ns).toEqual({ value: 900, lo: 900, hi: 900 });
    expect(load.growth.cpu_user_ns).toEqual({ value: 500, lo: 400, hi: 600 });
    expect(idle.growth.cpu_user_ns).toEqual({ value: 400, lo: 300, hi: 500 });
  });

  test("of a process that was forked in the run begins with its fork", () => {
    const rows = [reading(0), reading(100, { pid: 1 }), reading(101, { pid: 2, minor_faults: 40 })];
    expect(sums(rows, () => 50 * MS).load.growth.minor_faults).toEqual({ value: 40, lo: 40, hi: 40 });
    expect(sums(rows).load.growth.minor_faults).toEqual({ value: 0, lo: 0, hi: 0 });
  });

  test("of a number that went to another process begins anew", () => {
    const { whole } = sums([reading(0, { cpu_user_ns: 900 }), reading(100, { cpu_user_ns: 30 })]);
    expect(whole.growth.cpu_user_ns.value).toBe(0);
  });

  test("is that of the last reading of a process that has ended, which has no memory", () => {
    const { whole, idle } = sums([
      reading(0, { rss_bytes: MIB, rss_peak_bytes: MIB }),
      reading(700, { vms_bytes: 0, rss_peak_bytes: null, cpu_system_ns: 60 }),
    ]);
    expect(whole.growth.cpu_system_ns.value).toBe(60);
    expect([whole.readings, idle.readings]).toEqual([1, 0]);
    expect([whole.peak_hi_bytes, whole.read_peak_bytes, whole.unread_ns]).toEqual([null, MIB, 0]);
  });
});

describe("the proportional set of several processes", () => {
  const pss = (time_ms: number, pid: number, pss_bytes: number | null) =>
    reading(time_ms, { pid, pss_bytes, rss_peak_bytes: MIB });

  test("is the sum of what was read of each, the rest as it was read before", () => {
    const { whole, load, idle } = sums([
      pss(0, 1, 5 * MIB),
      pss(0, 2, 3 * MIB),
      pss(400, 1, null),
      pss(400, 2, null),
      pss(800, 1, null),
      pss(800, 2, 9 * MIB),
      pss(1000, 1, null),
      pss(1000, 2, null),
    ]);
    expect([whole.pss_bytes, load.pss_bytes, idle.pss_bytes]).toEqual([14 * MIB, 8 * MIB, 14 * MIB]);
  });

  test("is not known where it was never read of one: what the others have is no sum", () => {
    const { whole } = sums([pss(0, 1, 5 * MIB), pss(0, 2, null), pss(900, 1, 6 * MIB), pss(900, 2, null)]);
    expect(whole.pss_bytes).toBeNull();
  });
});

describe("a process that was there before its first reading, or nobody knows since when", () => {
  const rows = [
    reading(300, { cpu_user_ns: 2000 * MS, cpu_system_ns: 5 * MS, minor_faults: 70 }),
    reading(1000, { cpu_user_ns: 2400 * MS, cpu_system_ns: 6 * MS, minor_faults: 80 }),
  ];

  test("may have done all that its counters had by then, in the part of each span before that", () => {
    const { whole, load, idle } = sums(rows);
    expect([whole.early_ns, load.early_ns, idle.early_ns]).toEqual([300 * MS, 300 * MS, 0]);
    expect(whole.early).toEqual({
      cpu_user_ns: 2000 * MS,
      cpu_system_ns: 5 * MS,
      minor_faults: 70,
      major_faults: 0,
    });
    expect(idle.early.minor_faults).toBe(0);
    // What was read to grow is as it was.
    expect(whole.growth.minor_faults).toEqual({ value: 10, lo: 10, hi: 10 });
  });

  test("is not one that was seen to be forked", () => {
    expect(sums(rows, () => 250 * MS).whole.early_ns).toBe(0);
  });

  test("that has the number of another began behind the last reading of that one", () => {
    const { whole } = sums([reading(0, { cpu_user_ns: 900 }), reading(100, { cpu_user_ns: 30 })]);
    expect([whole.early_ns, whole.early.cpu_user_ns]).toEqual([100 * MS, 30]);
  });
});

describe("a process that goes on behind its last reading", () => {
  test("may do anything until the run ends, and no more than that", () => {
    const { whole, load, idle } = sums([reading(0), reading(960)]);
    expect([whole.unread_ns, load.unread_ns, idle.unread_ns]).toEqual([40 * MS, 0, 40 * MS]);
  });

  test("and is not found when the others are read ended before that", () => {
    const peak = { rss_peak_bytes: MIB };
    const { whole, load } = sums([
      reading(0, peak),
      reading(1, { pid: 2, ...peak }),
      reading(400, peak),
      reading(401, { pid: 2, ...peak }),
      reading(500, peak),
      reading(1000, peak),
    ]);
    expect([whole.unread_ns, load.unread_ns]).toEqual([99 * MS, 99 * MS]);
    expect([whole.peak_hi_bytes, load.peak_hi_bytes]).toEqual([null, null]);
  });
});

describe("a process that ended behind its last reading", () => {
  const readings = [
    reading(0, { rss_bytes: 8 * MIB, rss_peak_bytes: 8 * MIB }),
    reading(400, { rss_bytes: 10 * MIB, rss_peak_bytes: 10 * MIB, cpu_user_ns: 300 * MS, minor_faults: 9 }),
    reading(900, { rss_bytes: 12 * MIB, rss_peak_bytes: 12 * MIB, cpu_user_ns: 700 * MS, minor_faults: 12 }),
  ];
  const ended = (end_ms: number) => (_: number, time_ns: number) => (end_ms * MS >= time_ns ? end_ms * MS : null);

  test("may have held more then, and its counters went on", () => {
    const { whole, load } = sums(readings, undefined, ended(980));
    expect([whole.peak_lo_bytes, whole.peak_hi_bytes, whole.read_peak_bytes]).toEqual([12 * MIB, null, 12 * MIB]);
    expect([whole.unread_ns, load.unread_ns]).toEqual([80 * MS, 0]);
    // What came before that is as it was.
    expect([load.peak_lo_bytes, load.peak_hi_bytes]).toEqual([10 * MIB, 12 * MIB]);
  });

  test("has its counters to its end where it was read when only its parent had not asked for it, and not its peak", () => {
    const gone = reading(950, { vms_bytes: 0, rss_peak_bytes: null, cpu_user_ns: 720 * MS });
    const { whole } = sums([...readings, gone], undefined, ended(920));
    expect([whole.peak_hi_bytes, whole.unread_ns]).toEqual([null, 0]);
    expect(whole.growth.cpu_user_ns.value).toBe(720 * MS);
  });

  test("is no other with its number that was read later", () => {
    const { whole } = sums(readings, undefined, ended(100));
    expect([whole.peak_hi_bytes, whole.unread_ns]).toEqual([12 * MIB, 100 * MS]);
  });
});

test("decoding may be in as many pieces as a busy server has prompts in hours", () => {
  const decode = spanOf(
    "generation",
    "decode",
    Array.from({ length: 8e5 }, (_, i): [number, number] => [i, i + 0.5]),
  );
  const all = processReadings(spanSlices([decode], 1e6), () => null);
  all.take(reading(0, { rss_bytes: 4 * MIB }));
  expect(all.end()[0]?.most.rss_bytes).toBe(4 * MIB);
});
