import { describe, expect, test } from "bun:test";
import { sampleAttr } from "../../../../../src/collect/ebpf/samples/sample-attr.ts";
import type { SampleEvent } from "../../../../../src/collect/ebpf/samples/sample-event.ts";
import { accessesOf, forEachSample, type Sample } from "../../../../../src/collect/ebpf/samples/sample-rows.ts";
import { createSourceTally } from "../../../../../src/collect/ebpf/samples/tally.ts";
import type { Batch, ColumnData } from "../../../../../src/columnar/batch.ts";
import { batchFromRows } from "../../../../../src/columnar/rows.ts";
import { SAMPLE } from "../../../../../src/kernel/perf-event.ts";

const EVENT: SampleEvent = {
  name: "all_loads",
  pmu: "cpu",
  type: 4,
  config: 0x81d0n,
  config1: 0n,
  config2: 0n,
  cpus: null,
  op: "load",
  counts: true,
  latency: false,
  mostPrecise: 3,
  leastPrecise: 1,
  canExclude: true,
  leader: null,
  periodStep: 1,
  startPeriod: 250_007,
  share: 1,
};
const LATENCY: SampleEvent = { ...EVENT, name: "load_latency", counts: false, latency: true };
const OPS: SampleEvent = { ...EVENT, name: "ops", op: null, latency: true };
const EVENTS = [EVENT, LATENCY, OPS];

const ROW = {
  timestamp_ns: 5_000_000_000n,
  address: 0x7f12_3456_7008n,
  ip: 0x55d0_0000_1234n,
  period: 250_007n,
  data_src: 0n,
  weight: 0n,
  pid: 77,
  tid: 78,
  event: 0,
  cpu: 3,
};

function accesses(...rows: Partial<typeof ROW>[]): Batch<"access"> {
  return accessesOf(
    batchFromRows(
      "sample",
      rows.map((row) => ({ ...ROW, ...row })),
    ),
    EVENTS,
    "pebs",
  );
}

function values(batch: Batch, name: string): unknown[] {
  const column: ColumnData | undefined = batch.columns[name];
  if (column === undefined) throw new Error(`no column ${name}`);
  if ("codes" in column) return Array.from(column.codes, (code) => column.values[code]);
  const { data, valid } = column;
  return [...data].map((value, i) => (valid?.[i] === 0 ? null : value));
}

describe("rows of samples", () => {
  test("take read or write from the data source, else from what the event counts, and say which", () => {
    // Values as Linux documents them: load with L1 hit, store, load without more, nothing known.
    const batch = accesses(
      { data_src: 0x68100142n },
      { data_src: 0x5080024n },
      { data_src: 0x5080021n },
      { data_src: 6n },
    );
    expect(values(batch, "op_type")).toEqual(["load", "store", "load", "load_store"]);
    expect(values(batch, "op_evidence")).toEqual(["data_src", "data_src", "event", "data_src"]);
    expect(values(accesses({ event: 2, data_src: 0x21n }), "op_type")).toEqual(["unknown"]);
  });

  test("stand for their period; those that tell only where data came from stand for none", () => {
    const batch = accesses({ period: 250_007n }, { event: 1, period: 2003n }, { event: 2, period: 2n ** 40n + 7n });
    expect(values(batch, "period")).toEqual([250_007n, 0n, 2n ** 40n + 7n]);
  });

  test("have a latency where the event gives one and it is not 0, which says that there is none", () => {
    // The low 32 bits are the latency, the others of IBS and PEBS tell something else.
    const weight = (37n << 48n) | (120n << 32n) | 431n;
    const batch = accesses({ weight }, { weight, event: 1 }, { weight: 5n << 32n, event: 1 });
    expect(values(batch, "weight_cycles")).toEqual([null, 431, null]);
  });

  test("keep the whole address, ip and data source, and know the kernel's ips", () => {
    const ip = 0xffff_ffff_8100_1234n;
    const data_src = 0xfff4_0268_1001_42n;
    const batch = accesses({ ip, data_src }, {});
    expect(values(batch, "address")).toEqual([ROW.address, ROW.address]);
    expect(values(batch, "ip")).toEqual([ip, ROW.ip]);
    expect(values(batch, "in_kernel")).toEqual([1, 0]);
    expect(values(batch, "data_src")).toEqual([data_src, null]);
    expect([values(batch, "source"), values(batch, "cpu")]).toEqual([
      ["pebs", "pebs"],
      [3, 3],
    ]);
  });

  test("are named by process and page before", () => {
    const seen: Sample[] = [];
    const batch = batchFromRows("sample", [{ ...ROW, data_src: 0x20_6810_0142n }]);
    forEachSample({ ...batch, table: "sample" }, (sample) => seen.push(sample));
    expect(seen).toEqual([{ pid: 77, page: 0x7f12_3456_7, sourceLow: 0x6810_0142, sourceHigh: 0x20 }]);
  });
});

test("the tally says what the samples' data sources say, and cannot be made to grow without end", () => {
  const tally = createSourceTally();
  for (let i = 0; i < 3; i++) tally.add(0x6810_0142, 0);
  tally.add(0x0668_1008, 0x1);
  tally.add(0x5080021, 0xfffc_0000 | 0);
  const said = tally.summary();
  expect(said).toMatchObject({ samples: 5, op_load: 3, level_L1: 3, snoop_none: 3 });
  for (let i = 0; i < 10_000; i++) tally.add(i, 7);
  const many = tally.summary();
  expect((many.samples ?? 0) + (many.words_not_decoded ?? 0)).toBe(10_005);
  expect(many.words_not_decoded ?? 0).toBeGreaterThan(5000);
});

describe("the attribute of a sampled event", () => {
  test("never lets the kernel keep records back in batches: its clock is ours, and it asks for the time", () => {
    for (const event of EVENTS) {
      const attr = sampleAttr(event, 2, 1009, "6.1.0-56-amd64");
      expect(attr.flags).toContain("use_clockid");
      expect((attr.sample_type ?? 0) & SAMPLE.time).toBe(SAMPLE.time);
      expect(attr.clockid).toBe(1);
      expect(attr.precise_ip).toBe(2);
    }
  });

  test("asks for the weight as a struct since 5.12, never for both", () => {
    const weight = (release: string): number =>
      (sampleAttr(EVENT, 2, 1009, release).sample_type ?? 0) & (SAMPLE.weight | SAMPLE.weight_struct);
    expect(weight("5.11.22")).toBe(SAMPLE.weight);
    expect(weight("5.12.0-rc1")).toBe(SAMPLE.weight_struct);
    expect(weight("6.18.44-fc-v657")).toBe(SAMPLE.weight_struct);
    expect(weight("10.2")).toBe(SAMPLE.weight_struct);
  });

  test("excludes nothing where the PMU takes no exclusion", () => {
    const flags = sampleAttr({ ...OPS, canExclude: false }, 0, 16, "6.12").flags;
    expect(flags.filter((flag) => flag.startsWith("exclude"))).toEqual([]);
    expect(sampleAttr(EVENT, 3, 16, "6.12").flags).toContain("exclude_guest");
  });
});
