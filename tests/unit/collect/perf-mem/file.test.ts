import { describe, expect, test } from "bun:test";
import { KNOWN_SAMPLE_BITS, SAMPLE } from "../../../../src/collect/perf-mem/file/abi.ts";
import { type EventSpec, MEM_LOADS, perfData, recordWriter, type SampleSpec } from "../../../fixtures/perf-data.ts";
import { readBytes } from "../../../fixtures/perf-rows.ts";

const SAMPLES: readonly SampleSpec[] = Array.from({ length: 50 }, (_, i) => ({
  ip: 0x400000n + BigInt(i),
  pid: 100,
  tid: 101,
  time: 1_000_000n + BigInt(i) * 17n,
  addr: 0x7f12_3456_7000n + BigInt(64 * i),
  cpu: i % 3,
  period: 1000n,
  weight: BigInt(i + 1),
  dataSrc: i % 2 === 0 ? 0x68100142n : 0x1e05080021n,
}));

async function fileOf(event: EventSpec, samples: readonly SampleSpec[], bigEndian = false): Promise<Uint8Array> {
  const write = recordWriter(bigEndian);
  return await perfData({
    mode: "pipe",
    bigEndian,
    events: [event],
    records: samples.map((sample) => write.sample(event, sample)),
  });
}

describe("a perf.data file", () => {
  for (const bigEndian of [false, true]) {
    for (const mode of ["file", "pipe"] as const) {
      for (const compressed of [false, true]) {
        const name = `${bigEndian ? "big" : "little"}-endian, ${mode} mode${compressed ? ", compressed" : ""}`;
        test(`gives every sample: ${name}`, async () => {
          const write = recordWriter(bigEndian);
          const many = Array.from({ length: 40 }, () => SAMPLES).flat();
          const records = [
            write.comm(MEM_LOADS, 100, "my worker 1", 5n, true),
            write.mmap2(MEM_LOADS, {
              pid: 100,
              addr: 0x400000n,
              size: 4096n,
              inode: 9n,
              prot: 5,
              path: "/bin/x",
              time: 6n,
            }),
            ...many.map((sample) => write.sample(MEM_LOADS, sample)),
            write.lost(MEM_LOADS, 17n),
            write.throttle(MEM_LOADS, 99n),
          ];
          const bytes = await perfData({ mode, bigEndian, compressed, events: [MEM_LOADS], records });
          const { file, rows } = await readBytes(bytes);
          expect(file.broken).toBeNull();
          expect(file.account).toMatchObject({ samples: 2000, keptAccesses: 2000, throttles: 1, badRecords: 0 });
          expect([...file.account.dropped]).toEqual([["lost", 17]]);
          expect(file.events[0]?.name).toBe("cpu/mem-loads,ldlat=30/P");
          const expected = many.map((s) => ({
            timestamp_ns: s.time,
            address: s.addr,
            ip: s.ip,
            pid: 100,
            tid: 101,
            cpu: s.cpu,
            op_type: "load",
            op_evidence: s.dataSrc === 0x68100142n ? "data_src" : "event",
            source: "pebs",
            data_src: s.dataSrc,
            weight_cycles: Number(s.weight),
            in_kernel: 0,
            // A load-latency event samples some loads: a row is no number of them.
            period: 0n,
          }));
          expect(rows.access as object[]).toEqual(expected);
          expect(rows.mapping?.map(({ kind, path }) => [kind, path])).toEqual([
            ["exec", "my worker 1"],
            ["mmap", "/bin/x"],
          ]);
        });
      }
    }
  }
});

describe("the fields of a sample", () => {
  const every: EventSpec = {
    ...MEM_LOADS,
    name: "cpu/all-loads/",
    config: 0x81d0n,
    sampleType: KNOWN_SAMPLE_BITS & ~SAMPLE.WEIGHT,
    readFormat: 1 | 2 | 4 | 8 | 16,
    branchSampleType: (1n << 17n) | (1n << 19n),
    regsUser: 0b1011n,
    regsIntr: 0b1n,
  };
  const full: SampleSpec = {
    ...SAMPLES[0],
    read: [2n, 1n, 1n, 5n, 6n, 7n, 5n, 6n, 7n],
    callchain: [1n, 2n, 3n],
    raw: new Uint8Array(20),
    branches: [2n, 0n, 1n, 2n, 3n, 4n, 5n, 6n, 0n, 0n],
    regsUser: [2n, 1n, 2n, 3n],
    stackUser: [16n, 0n, 0n, 8n],
    regsIntr: [2n, 99n],
    weight: (7n << 48n) | (5n << 32n) | 321n,
  };

  for (const bigEndian of [false, true]) {
    test(`are found behind all of those that are not needed${bigEndian ? ", big-endian" : ""}`, async () => {
      const { file, rows } = await readBytes(await fileOf(every, [full, full], bigEndian));
      expect(file.account).toMatchObject({ keptAccesses: 2 });
      expect(rows.access?.[1]).toMatchObject({
        address: full.addr,
        weight_cycles: 321,
        data_src: full.dataSrc,
        period: 1000n,
        tid: 101,
      });
    });
  }

  test("may be any of them: what a sample lacks is not taken from another field", async () => {
    const bits = Object.values(SAMPLE).filter((bit) => bit !== SAMPLE.ADDR && bit !== SAMPLE.WEIGHT_STRUCT);
    for (const bit of bits) {
      const event = { ...every, sampleType: SAMPLE.ADDR | bit };
      const { file, rows } = await readBytes(await fileOf(event, [full]));
      expect(file.account).toMatchObject({ keptAccesses: 1 });
      expect(rows.access?.[0]).toMatchObject({
        address: full.addr,
        ip: bit === SAMPLE.IP ? full.ip : 0n,
        pid: bit === SAMPLE.TID ? 100 : 0,
        timestamp_ns: bit === SAMPLE.TIME ? full.time : 0n,
        weight_cycles: bit === SAMPLE.WEIGHT ? 321 : null,
        data_src: bit === SAMPLE.DATA_SRC ? full.dataSrc : null,
        period: 1000n,
      });
    }
  });

  test("that end behind the record are a dropped sample, and the rest is read", async () => {
    const event = { ...every, sampleType: SAMPLE.ADDR | SAMPLE.CALLCHAIN | SAMPLE.DATA_SRC };
    const write = recordWriter();
    const hostile = write.record(9, 2, (out) => {
      out.u64(1n);
      out.u64(1n << 60n);
      out.u64(0n);
    });
    const bytes = await perfData({ mode: "pipe", events: [event], records: [hostile, write.sample(event, full)] });
    const { file } = await readBytes(bytes);
    expect([...file.account.dropped]).toEqual([["malformed", 1]]);
    expect(file.account.keptAccesses).toBe(1);
  });

  for (const bigEndian of [false, true]) {
    test(`tell when they were though none is kept${bigEndian ? ", big-endian" : ""}`, async () => {
      const { file } = await readBytes(
        await fileOf(
          MEM_LOADS,
          [300n, 100n, 200n].map((time) => ({ ...SAMPLES[0], addr: 0n, time })),
          bigEndian,
        ),
      );
      expect([file.first_ns, file.last_ns]).toEqual([100n, 300n]);
    });
  }
});

describe("samples of several events", () => {
  const loads = { ...MEM_LOADS, ids: [1n, 2n] };
  const stores = { ...MEM_LOADS, name: "cpu/mem-stores/P", config: 0x82d0n, ids: [3n, 1n << 40n] };

  test("are told apart by their ids, whatever the CPU", async () => {
    const write = recordWriter();
    const one = { ...SAMPLES[0], dataSrc: 0n };
    const records = [1n, 3n, 2n, 1n << 40n, 77n].map((id) => write.sample(loads, { ...one, id }));
    for (const mode of ["file", "pipe"] as const) {
      const { file, rows } = await readBytes(await perfData({ mode, events: [loads, stores], records }));
      expect(rows.access?.map(({ op_type, op_evidence }) => `${op_type} ${op_evidence}`)).toEqual([
        "load event",
        "store event",
        "load event",
        "store event",
      ]);
      expect([...file.account.dropped]).toEqual([["unknown_event", 1]]);
    }
  });

  test("are faults, breakpoints, timers or accesses by what the event is", async () => {
    const fields =
      SAMPLE.IP | SAMPLE.TID | SAMPLE.TIME | SAMPLE.ADDR | SAMPLE.CPU | SAMPLE.IDENTIFIER | SAMPLE.REGS_INTR;
    const base = { ...MEM_LOADS, sampleType: fields, period: 1n, regsIntr: 0b11n };
    const faults = { ...base, name: "page-faults", type: 1, config: 2n, ids: [1n] };
    const watch = {
      ...base,
      name: "mem:0x1000/8:rw",
      type: 5,
      config: 0n,
      ids: [2n],
      bpType: 3,
      bpAddr: 0x1000n,
      bpLen: 8n,
    };
    const clock = { ...base, name: "cpu-clock", type: 1, config: 0n, ids: [3n] };
    const aux = { ...base, name: "cpu/mem-loads-aux/", ids: [4n] };
    const write = recordWriter();
    const sample = { ...SAMPLES[0], addr: 0x1000n, regsIntr: [2n, 11n, 22n] };
    const records = [faults, watch, clock, aux].map((event) =>
      write.sample(event, { ...sample, id: event.ids[0] ?? 0n }),
    );
    const bytes = await perfData({ mode: "file", events: [faults, watch, clock, aux], records });
    const { file, rows } = await readBytes(bytes, (_pid, _ip, registers, mask) => ({
      address: BigInt(registers[2] ?? 0),
      op: mask === 3n ? "store" : "unknown",
    }));
    expect(rows.fault?.map(({ address, fault_flags }) => [address, fault_flags])).toEqual([[0x1000n, 34]]);
    expect(rows.access?.map(({ source, address, watch_id, op_type }) => [source, address, watch_id, op_type])).toEqual([
      ["watch", 0x1000n, 1, "unknown"],
      ["clock", 22n, null, "store"],
    ]);
    expect([...file.account.filtered]).toEqual([["auxiliary_leader", 1]]);
  });

  test("of the kernel's addresses, of none and of no process are left out and counted", async () => {
    const sample = SAMPLES[0] ?? {};
    const { file } = await readBytes(
      await fileOf(MEM_LOADS, [
        sample,
        { ...sample, addr: 0xffff_8880_0000_0000n },
        { ...sample, addr: 0n },
        { ...sample, pid: 0xffffffff },
      ]),
    );
    expect(Object.fromEntries(file.account.filtered)).toEqual({ kernel_address: 1, no_address: 1, no_process: 1 });
    expect(file.account.keptAccesses).toBe(1);
  });
});

describe("mappings of a file", () => {
  test("that grew are born once, and a file's are told each time", async () => {
    const write = recordWriter();
    const anon = { pid: 100, prot: 3, path: "//anon", time: 10n };
    const records = [
      write.mmap2(MEM_LOADS, { ...anon, addr: 0x10000n, size: 0x2000n }),
      write.mmap2(MEM_LOADS, { ...anon, addr: 0xf000n, size: 0x3000n }),
      write.mmap2(MEM_LOADS, { ...anon, addr: 0xf000n, size: 0x4000n }),
      write.sample(MEM_LOADS, SAMPLES[0] ?? {}),
    ];
    const { rows } = await readBytes(await perfData({ mode: "file", events: [MEM_LOADS], records }));
    expect(rows.mapping?.map(({ addr, size_bytes, path }) => [addr, size_bytes, path])).toEqual([
      [0x10000n, 0x2000n, null],
      [0xf000n, 0x1000n, null],
      [0x12000n, 0x1000n, null],
    ]);
  });
});

describe("a file that is cut or damaged", () => {
  test("is read up to the cut, and says where", async () => {
    const bytes = await fileOf(MEM_LOADS, SAMPLES);
    const { file } = await readBytes(bytes.subarray(0, bytes.length - 20));
    expect(file.account.keptAccesses).toBe(49);
    expect(file.broken).toEqual({ offset: bytes.length - 88, why: "the last record is cut" });
  });

  test("is read though perf was killed before it wrote the length of the records", async () => {
    const write = recordWriter();
    const bytes = await perfData({
      mode: "file",
      events: [MEM_LOADS],
      records: SAMPLES.map((sample) => write.sample(MEM_LOADS, sample)),
    });
    new DataView(bytes.buffer).setBigUint64(48, 0n, true);
    const { file } = await readBytes(bytes);
    expect(file.account.keptAccesses).toBe(50);
  });

  test("is refused with the byte where its header cannot be", async () => {
    const good = await perfData({ mode: "file", events: [MEM_LOADS], records: [] });
    const broken: readonly (readonly [at: number, value: bigint])[] = [
      [0, 1n],
      [8, 3n],
      [16, 1n << 40n],
      [32, 1n << 50n],
      [24, 1n << 62n],
      [40, 1n << 60n],
    ];
    for (const [at, value] of broken) {
      const bytes = good.slice();
      new DataView(bytes.buffer).setBigUint64(at, value, true);
      const error: unknown = await readBytes(bytes).catch((caught: unknown) => caught);
      expect(String(error)).toMatch(/at byte \d+/);
    }
  });

  test("is refused where the ids of its events lie over each other, before they take more memory than the file", async () => {
    const ids = Array.from({ length: 1 << 16 }, (_, i) => BigInt(i + 1));
    const events = Array.from({ length: 24 }, (_, i) => ({ ...MEM_LOADS, ids: i === 0 ? ids : [BigInt(i)] }));
    const bytes = await perfData({ mode: "file", events, records: [] });
    const view = new DataView(bytes.buffer);
    const attributes = Number(view.getBigUint64(24, true));
    const entryBytes = Number(view.getBigUint64(16, true));
    for (let event = 1; event < events.length; event++) {
      const section = attributes + event * entryBytes + entryBytes - 16;
      view.setBigUint64(section, 104n, true);
      view.setBigUint64(section + 8, BigInt(8 * ids.length), true);
    }
    const error: unknown = await readBytes(bytes).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "data_quality", message: expect.stringMatching(/the ids of event 16 claim/) });
  });

  test("ends at a compressed record that unpacks to more than its header allows", async () => {
    const write = recordWriter();
    // Records of an unknown type that hold nothing, many times over.
    const packed = Bun.zstdCompressSync(
      new Uint8Array(new BigUint64Array(20 * 2 ** 20).fill((8n << 48n) | 99n).buffer),
    );
    expect(packed.length).toBeLessThan(60_000);
    const bomb = write.record(81, 0, (out) => out.raw(packed));
    const bytes = await perfData({ mode: "pipe", events: [MEM_LOADS], records: [bomb] });
    const { file } = await readBytes(bytes);
    expect(file.broken?.why).toContain("unpacks to more than");
  });
});
