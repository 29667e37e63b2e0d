import { expect, test } from "bun:test";
import { balances } from "../../../src/schema/ledger.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { columnOf, trace } from "./traced.ts";

const WRITE = 1;
const USER = 2;
const MAJOR_DONE = 16;
const PAGES = 2311;

interface Fault {
  readonly time: bigint;
  readonly address: bigint;
  readonly flags: number;
  readonly pid: number;
}

/** Faults of one run of count-faults between its two getrusage calls, and what getrusage said. */
async function faultsOf(mode: string) {
  await using traced = await trace([compileProgram("count-faults"), String(PAGES), mode]);
  const said = JSON.parse(await traced.line()) as Record<string, string | number>;
  await traced.finish();
  const column = (name: string) => columnOf(traced.faults, name);
  const [time, address, flags, pid] = ["timestamp_ns", "address", "fault_flags", "pid"].map(column);
  const all: Fault[] = (time ?? []).map((at, i) => ({
    time: BigInt(at),
    address: BigInt(address?.[i] ?? 0),
    flags: Number(flags?.[i]),
    pid: Number(pid?.[i]),
  }));
  for (const row of traced.faultSource.ledger()) {
    expect(balances(row)).toBe(true);
    expect(row.dropped).toBe(0);
  }
  const inside = all.filter((fault) => fault.time >= BigInt(said.begin ?? 0) && fault.time <= BigInt(said.end ?? 0));
  return {
    counted: Number(said.minor) + Number(said.major),
    taken: inside.filter((fault) => !(fault.flags & MAJOR_DONE) && fault.pid === traced.pid),
    first: BigInt(said.first ?? 0),
    second: BigInt(said.second ?? 0),
  };
}

test("faults seen equal ru_minflt + ru_majflt between two getrusage calls, page by page, with read or write", async () => {
  const { counted, taken, first, second } = await faultsOf("touch");
  expect(counted).toBeGreaterThanOrEqual(2 * PAGES);
  expect(taken.length).toBe(counted);
  const within = (start: bigint) =>
    taken.filter(({ address }) => address >= start && address < start + BigInt(PAGES * 4096));
  expect(new Set(within(first).map(({ address }) => address >> 12n)).size).toBe(PAGES);
  expect(within(first).every(({ flags }) => (flags & (WRITE | USER)) === (WRITE | USER))).toBe(true);
  expect(within(second)).toHaveLength(PAGES);
  expect(within(second).every(({ flags }) => (flags & (WRITE | USER)) === USER)).toBe(true);
});

test("a fault that the kernel takes while it copies for the program is seen, and marked", async () => {
  const { counted, taken, first } = await faultsOf("copy");
  const copied = taken.filter(({ address }) => address >= first && address < first + BigInt(PAGES * 4096));
  expect(copied).toHaveLength(PAGES);
  expect(copied.every(({ flags }) => (flags & (WRITE | USER)) === WRITE)).toBe(true);
  expect(taken.length).toBe(counted);
});

test("only what the kernel faults in by itself differs: MAP_POPULATE is counted by getrusage and takes no exception", async () => {
  const { counted, taken } = await faultsOf("populate");
  expect(counted).toBeGreaterThan(0);
  expect(taken.length).toBeLessThan(counted);
});
