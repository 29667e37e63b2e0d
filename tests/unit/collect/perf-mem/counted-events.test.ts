import { describe, expect, test } from "bun:test";
import { uncountedByName } from "../../../../src/collect/perf-mem/file/counted-events.ts";
import { type EventSpec, MEM_LOADS, perfData, recordWriter } from "../../../fixtures/perf-data.ts";
import { readBytes } from "../../../fixtures/perf-rows.ts";

const IBS_BY_OPS = 1n << 19n;
const L3_MISSES = 1n << 16n;

async function read(event: EventSpec) {
  const write = recordWriter();
  const records = [write.sample(event, { pid: 1, time: 5n, addr: 4096n, period: 1000n, dataSrc: 0x68100142n })];
  const { file, rows } = await readBytes(await perfData({ mode: "file", events: [event], records }));
  return { source: rows.access?.[0]?.source, period: rows.access?.[0]?.period, why: file.events[0]?.uncounted };
}

describe("the samples of an event stand for their period", () => {
  const ibs = (config: bigint, leastLatency = 0n): EventSpec => ({
    ...MEM_LOADS,
    name: "ibs_op//",
    type: 11,
    config,
    bpAddr: leastLatency,
  });
  const core = (config: bigint): EventSpec => ({ ...MEM_LOADS, name: "r", config });

  test("of IBS where it counts ops, and neither latency nor level choose among them", async () => {
    expect(await read(ibs(IBS_BY_OPS))).toEqual({ source: "ibs", period: 1000n, why: null });
    const byCycles = await read(ibs(0n));
    expect([byCycles.source, byCycles.period]).toEqual(["ibs", 0n]);
    expect(byCycles.why).toContain("sampled by cycles");
    for (const chosen of [ibs(IBS_BY_OPS | L3_MISSES), ibs(IBS_BY_OPS, 128n)]) {
      expect(await read(chosen)).toEqual({ source: "ibs", period: 0n, why: "samples some accesses only" });
    }
  });

  test("of Intel's cores where it counts all loads, all stores, or all instructions", async () => {
    for (const config of [0x81d0n, 0x82d0n, 0x83d0n, 0xc0n]) expect((await read(core(config))).period).toBe(1000n);
    // Loads of some latency, the stores that are sampled, loads that missed the last level, loads with a lock.
    for (const config of [0x1cdn, 0x2cdn, 0x20d1n, 0x21d0n]) expect((await read(core(config))).period).toBe(0n);
    for (const [type, config, period] of [
      [0, 0n, 0n],
      [0, 1n, 1000n],
      [3, 0x100n, 1000n],
      [3, 0x10000n, 0n],
    ] as const) {
      expect((await read({ ...core(config), type })).period).toBe(period);
    }
  });

  test("in text as far as the name tells", () => {
    const counted = [
      "cpu/mem-stores/P",
      "mem_inst_retired.all_loads:p",
      "ibs_op/cnt_ctl=1/",
      "ibs_op/cnt_ctl=1,ldlat=0/",
      "",
    ];
    expect(counted.map(uncountedByName)).toEqual(counted.map(() => null));
    // Of Arm SPE perf prints a period of 1, whatever the distance between samples was.
    for (const name of ["memory", "arm_spe_0/ts_enable=1/", "ibs_op/cnt_ctl=1,ldlat=128/"]) {
      expect(uncountedByName(name)).not.toBeNull();
    }
    for (const name of ["ibs_op//", "ibs_op/cnt_ctl=0/", "cpu/mem-loads,ldlat=30/P", "mem_load_retired.l3_miss:p"]) {
      expect(uncountedByName(name)).not.toBeNull();
    }
  });
});
