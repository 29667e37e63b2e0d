import { describe, expect, test } from "bun:test";
import { type FoundOperand, operandAt } from "../../../../../src/code/memory-operand.ts";
import { createOperandFinder } from "../../../../../src/code/operand-finder.ts";
import { accessBatch, accessColumns } from "../../../../../src/collect/access-columns.ts";
import { clockWarnings } from "../../../../../src/collect/ebpf/clock/clock-summary.ts";
import { createTickReader } from "../../../../../src/collect/ebpf/clock/tick-rows.ts";
import { rowsOf } from "../../../../fixtures/perf-rows.ts";
import { type Tick, tickBlocks } from "../../../../fixtures/tick-blocks.ts";

/** By the last digit of the instruction's address. */
const CODE: Readonly<Record<number, FoundOperand | null>> = {
  0: operandAt(Uint8Array.of(0x48, 0x8b, 0x44, 0x24, 0x08)), // mov rax, [rsp + 8]
  1: operandAt(Uint8Array.of(0x64, 0x48, 0x89, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff)), // mov fs:[-8], rax
  2: "none",
  3: "unknown",
  4: null,
  5: operandAt(Uint8Array.of(0x48, 0x8b, 0x00)), // mov rax, [rax]
};
const IP = 0x5555_0000_0000n;
const tick = (digit: number, more: Tick = {}): Tick => ({
  timestamp_ns: 9_000_000_000n,
  ip: IP + BigInt(digit),
  period: 10_000_019n,
  sp: 0x7ffd_1234_5670n,
  fs_base: 0x7f00_0000_0000n,
  pid: 70n,
  tid: 71n,
  ...more,
});

function read(blocks: readonly (readonly Tick[])[], began: (pid: number) => number | undefined = () => undefined) {
  const reader = createTickReader({ find: (_, ip) => CODE[ip % 16] ?? null, forget() {} }, began);
  const columns = accessColumns(4);
  const rows: ReturnType<typeof rowsOf> = [];
  const gather = () => {
    rows.push(...rowsOf(accessBatch(columns)));
    columns.rows = 0;
  };
  reader.read(tickBlocks(blocks), columns, gather);
  gather();
  return { rows, losses: reader.losses };
}

describe("ticks", () => {
  test("become accesses with the address, thread, CPU and time of the sample", () => {
    const { rows } = read([[tick(0)], [tick(1, { pid: 80n, tid: 81n })]]);
    expect(rows).toMatchObject([
      { address: 0x7ffd_1234_5678n, op_type: "load", ip: IP, pid: 70, tid: 71, cpu: 0 },
      { address: 0x7eff_ffff_fff8n, op_type: "store", ip: IP + 1n, pid: 80, tid: 81, cpu: 1 },
    ]);
    const same = { timestamp_ns: 9_000_000_000n, period: 10_000_019n, source: "clock", op_evidence: "decoded" };
    for (const row of rows) expect(row).toMatchObject({ ...same, in_kernel: 0, data_src: null, weight_cycles: null });
  });

  test("that fill the columns are handed over, and none is lost", () => {
    const { rows } = read([Array.from({ length: 11 }, (_, i) => tick(0, { tid: BigInt(i) }))]);
    expect(rows.map(({ tid }) => tid)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("that give no access are counted by the reason", () => {
    const { rows, losses } = read([[tick(2), tick(2), tick(3), tick(4), tick(5, { ax: 1n << 63n })]]);
    expect(rows).toEqual([]);
    expect(losses).toEqual({ noAccess: 2, noCode: 1, noAddress: 2 });
  });

  test("of a program that was replaced since are not taken for the new one's", () => {
    const began = (pid: number) => (pid === 70 ? 9_000_000_001 : undefined);
    const { rows, losses } = read([[tick(0), tick(0, { timestamp_ns: 9_000_000_001n }), tick(0, { pid: 71n })]], began);
    expect(rows.length).toBe(2);
    expect(losses.noCode).toBe(1);
  });
});

describe("the finder of operands", () => {
  const LOAD = Uint8Array.of(0x48, 0x8b, 0x00, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90);

  test("reads code that no file holds from memory, up to the end of its page where the next one is not there", () => {
    const asked: number[] = [];
    const read = (_pid: number, address: bigint, length: number) => {
      asked.push(length);
      return (Number(address) % 4096) + length > 4096 ? null : LOAD.subarray(0, length);
    };
    const finder = createOperandFinder({ locate: () => null }, read);
    expect(finder.find(1, 4096)).toMatchObject({ op: 0 });
    expect(finder.find(1, 8192 - 5)).toMatchObject({ op: 0 });
    expect(finder.find(1, 8192 - 2)).toBe("unknown");
    expect(asked).toEqual([15, 15, 5, 15, 2]);
  });

  test("says nothing of code that is gone, or that is no program's", () => {
    const finder = createOperandFinder({ locate: () => null }, () => null);
    expect(finder.find(1, 4096)).toBeNull();
    expect(finder.find(1, 2 ** 64 - 4096)).toBeNull();
    expect(createOperandFinder({ locate: () => null }, null).find(1, 4096)).toBeNull();
  });
});

test("a rate that was lowered is told with what it costs, one that was not is not", () => {
  const cost = { value: 20_000, lo: 1, hi: 2, whyAssumed: null, samples: 9 };
  const rest = {
    samples: 0,
    sampled_ns: 0,
    foreign: 0,
    in_kernel: 0,
    other_mode: 0,
    in_string: 0,
    rows: 0,
    located: 0,
    hot_bytes: 0,
  };
  const none = { no_access: 0, no_code: 0, no_address: 0, cpus: 2, ...rest };
  expect(clockWarnings({ hz: { wanted: 100, taken: 100 }, cost, budget_pct: 0.2, ...none })).toEqual([]);
  const [said] = clockWarnings({ hz: { wanted: 1000, taken: 250 }, cost, budget_pct: 0.5, ...none });
  expect(said).toContain("250.0 times a second instead of 1000: 0.50 % of a CPU pays for no more (20.0 us each)");
});
