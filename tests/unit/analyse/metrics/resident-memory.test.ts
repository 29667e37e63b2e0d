import { describe, expect, test } from "bun:test";
import { spanOf } from "../../../../src/analyse/input/span.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import type { MemoryReadings } from "../../../../src/analyse/process/load-memory-readings.ts";
import type { ProcessUse } from "../../../../src/analyse/process/process-readings.ts";
import { input, MS } from "../sample-input.ts";

const MIB = 2 ** 20;
const SPANS = [spanOf("all", "all", [[0, 1000 * MS]]), spanOf("idle", "all", [[500 * MS, 1000 * MS]])];
const MEMRAY: MemoryReadings = { readings: 90, processes: 1, read_ns: 900 * MS, most_rss_bytes: 40 * MIB };
const growth = { value: 0, lo: 0, hi: 0 };
const USE: ProcessUse = {
  readings: 10,
  processes: 1,
  read_ns: 1000 * MS,
  peak_lo_bytes: 50 * MIB,
  peak_hi_bytes: 50 * MIB,
  read_peak_bytes: 50 * MIB,
  unread_ns: 0,
  early_ns: 0,
  early: { cpu_user_ns: 0, cpu_system_ns: 0, minor_faults: 0, major_faults: 0 },
  most: { rss_bytes: 1, rss_anon_bytes: 1, rss_file_bytes: 0, rss_shmem_bytes: 0 },
  pss_bytes: null,
  growth: { cpu_user_ns: growth, cpu_system_ns: growth, minor_faults: growth, major_faults: growth },
  counted: 1,
};

function memory(memray: MemoryReadings | null, use: ProcessUse | null = null, cpus: number | null = null) {
  const process = use === null ? null : SPANS.map(() => use);
  const counts = { spans: SPANS, process, memray, points: [], faults: null };
  const rows = computeMetrics(input({ window_ns: 1000 * MS, counts, cpus })).filter(({ scope }) => scope === "process");
  return (metric: string, phase = "all") => rows.filter((row) => row.metric === metric && row.phase === phase);
}

describe("the peak of resident memory where nobody read /proc", () => {
  test("is no less than the most that memray read, and has no upper end", () => {
    expect(memory(MEMRAY)("rss_peak_bytes")).toMatchObject([
      {
        source: "allocation",
        status: "bound",
        value: null,
        lo: 40 * MIB,
        hi: null,
        n: 90,
        coverage: 0.9,
        method: "memray's reading every 10 ms, the most of them; n counts readings",
        why: "the peak may have been between two readings",
      },
    ]);
  });

  test("is that of the largest of several processes, and says so", () => {
    const [row] = memory({ ...MEMRAY, processes: 3 })("rss_peak_bytes");
    expect(row).toMatchObject({ status: "bound", lo: 40 * MIB, hi: null });
    expect(row?.why).toContain("3 processes, of which this is the largest");
  });

  test("is told of the whole run only, and nothing else is told of memory", () => {
    const refused = { source: "process", status: "not_identifiable", why: "nobody read /proc of the traced process" };
    expect(memory(MEMRAY)("rss_peak_bytes", "idle")).toMatchObject([refused]);
    expect(memory(MEMRAY)("rss_anon_most_bytes")).toMatchObject([refused]);
    expect(memory(null)("rss_peak_bytes")).toMatchObject([refused]);
  });
});

test("what a process did before its first reading is in the upper ends of its CPU time and faults, as far as its counters had it by then", () => {
  const early = { cpu_user_ns: 900 * MS, cpu_system_ns: 30 * MS, minor_faults: 70, major_faults: 0 };
  const grown = { ...USE.growth, minor_faults: { value: 7, lo: 6, hi: 8 } };
  const told = memory(null, { ...USE, growth: grown, early_ns: 300 * MS, early }, 2);
  const slack = 10 * MS;
  expect(told("cpu_user_ns")).toMatchObject([{ status: "ok", value: 0, lo: 0, hi: 600 * MS + slack }]);
  expect(told("cpu_system_ns")).toMatchObject([{ status: "ok", value: 0, hi: 30 * MS + slack }]);
  expect(told("cpu_ns")).toMatchObject([{ status: "ok", value: 0, hi: 600 * MS + 2 * slack }]);
  expect(told("faults")).toMatchObject([{}, { source: "process", status: "ok", value: 7, lo: 6, hi: 78 }]);
});

test("the readings of /proc stand where both are there", () => {
  expect(memory(MEMRAY, USE)("rss_peak_bytes")).toMatchObject([
    { source: "process", status: "ok", value: 50 * MIB, lo: 50 * MIB, hi: 50 * MIB },
  ]);
});

describe("the peak of resident memory by the kernel's mark", () => {
  test("is a value whose ends have room for the pages that each CPU counts by itself", () => {
    const [row] = memory(null, USE, 2)("rss_peak_bytes");
    const slack = 3 * 32 * 2 * 4096;
    expect(row).toMatchObject({ status: "ok", value: 50 * MIB, lo: 50 * MIB - slack, hi: 50 * MIB + slack });
  });

  test("is no less than was read where a process ended behind its last reading, as are its faults, and its CPU time may be that of all CPUs then", () => {
    const ended = { ...USE, peak_hi_bytes: null, unread_ns: 80 * MS };
    const told = memory(null, ended, 2);
    expect(told("rss_peak_bytes")).toMatchObject([{ status: "bound", value: null, hi: null }]);
    expect(told("rss_peak_bytes")[0]?.why).toContain("behind the last one of a process that ended");
    expect(told("cpu_ns")).toMatchObject([{ status: "ok", value: 0, hi: 160 * MS + 2 * 10 * MS }]);
    const faults = { ...ended, growth: { ...USE.growth, minor_faults: { value: 7, lo: 6, hi: 8 } } };
    expect(memory(null, faults, 2)("faults")).toMatchObject([
      {},
      { source: "process", status: "bound", value: null, lo: 6, hi: null },
    ]);
  });
});
