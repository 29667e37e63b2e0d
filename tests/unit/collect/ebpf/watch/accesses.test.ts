import { describe, expect, test } from "bun:test";
import type { DecodedAccess } from "../../../../../src/code/trap-operation.ts";
import { seenAccesses, type WatchedBytes } from "../../../../../src/collect/ebpf/watch/accesses.ts";
import type { Trap } from "../../../../../src/collect/ebpf/watch/traps.ts";
import { ROLE } from "../../../../../src/schema/shared-numbers.ts";

const ADDR = 0x7000_0000n;
const watched: WatchedBytes = { pid: 1, addr: ADDR, sizeBytes: 8, mode: "rw", beginNs: 0n, endNs: 1_000_000n };
function trap(timeNs: number, changes: Partial<Trap> = {}): Trap {
  const registers = { registerSi: 0n, registerDi: 0n };
  return {
    timeNs: BigInt(timeNs),
    ip: 100n,
    ...registers,
    tid: 1,
    cpu: 0,
    role: ROLE.single,
    inKernel: false,
    ...changes,
  };
}
const always = (op: DecodedAccess["op"]) => (): DecodedAccess => ({ op, evidence: "decoded", repeated: false });
const unknown = (): DecodedAccess => ({ op: "unknown", evidence: "none", repeated: false });

describe("traps of one watch", () => {
  test("come out in order of time, whichever CPU saw them first", () => {
    const traps = [trap(30, { cpu: 0 }), trap(50, { cpu: 0 }), trap(20, { cpu: 1 }), trap(40, { cpu: 1 })];
    const { accesses } = seenAccesses(traps, watched, always("load"));
    expect(accesses.map((one) => Number(one.trap.timeNs))).toEqual([20, 30, 40, 50]);
  });
  test("outside the exposure are left out and counted", () => {
    const traps = [trap(5), trap(10), trap(20), trap(21)];
    const seen = seenAccesses(traps, { ...watched, beginNs: 10n, endNs: 20n }, always("load"));
    expect(seen).toMatchObject({ traps: 2, outside: 2 });
  });
  test("that nothing tells apart stay unknown and are counted", () => {
    const seen = seenAccesses([trap(1), trap(2, { inKernel: true })], watched, unknown);
    expect(seen.accesses.map(({ op, evidence }) => `${op} ${evidence}`)).toEqual(["unknown none", "unknown none"]);
    expect(seen.undecided).toBe(1);
  });
  test("of a register for stores are stores, whatever decoding says", () => {
    const seen = seenAccesses([trap(1)], { ...watched, mode: "w" }, always("load"));
    expect(seen.accesses[0]).toMatchObject({ op: "store", evidence: "registers" });
  });
});

describe("a pair of registers", () => {
  const pair = { ...watched, mode: "pair" } as const;
  const w = (time: number, changes: Partial<Trap> = {}) => trap(time, { role: ROLE.pair_w, ...changes });
  const rw = (time: number, changes: Partial<Trap> = {}) => trap(time, { role: ROLE.pair_rw, ...changes });

  test("calls a write what both saw, in either order, and a read what only one did", () => {
    const traps = [w(1000), rw(1100), rw(30_000), rw(60_000), w(60_100)];
    const seen = seenAccesses(traps, pair, always("store"));
    expect(seen.accesses.map(({ op }) => op)).toEqual(["store", "load", "store"]);
    expect(seen).toMatchObject({ twins: 2, unpaired: 0, compared: 3, agreed: 2 });
  });
  test("uses each write once, and only of the same CPU, thread and instruction within one exception", () => {
    for (const other of [{ cpu: 1 }, { tid: 2 }, { ip: 101n }, { timeNs: 2_000_000n }]) {
      const seen = seenAccesses([w(1000, other), rw(1100)], pair, always("load"));
      expect(seen).toMatchObject({ unpaired: 1, twins: 0, agreed: 1 });
    }
    const seen = seenAccesses([rw(1000), w(1100), rw(1200)], pair, unknown);
    expect(seen.accesses.map(({ op }) => op).sort()).toEqual(["load", "store"]);
    expect(seen.compared).toBe(0);
  });
  test("matches twins between which the host took the CPU away", () => {
    const seen = seenAccesses([w(1000), rw(400_000), w(410_000), rw(410_100)], pair, always("store"));
    expect(seen).toMatchObject({ unpaired: 0, twins: 2, compared: 2, agreed: 2 });
  });
  test("keeps what decoding knows of a read and write in one", () => {
    const seen = seenAccesses([w(1), rw(2)], pair, always("load_store"));
    expect(seen.accesses[0]).toMatchObject({ op: "load_store", evidence: "pair" });
    expect(seen).toMatchObject({ compared: 1, agreed: 1 });
  });
});

describe("the traps of one string instruction", () => {
  const repeated = (): DecodedAccess => ({ op: "load", evidence: "registers", repeated: true });
  const step = (time: number, bytes: number) => trap(time, { registerSi: ADDR + BigInt(bytes) });

  test("are one access, and begin another where the string begins anew", () => {
    const traps = [step(10_000, 1), step(20_000, 2), step(30_000, 8), step(40_000, 1), step(50_000, 2)];
    const seen = seenAccesses(traps, watched, repeated);
    expect(seen.accesses.map((one) => Number(one.trap.timeNs))).toEqual([10_000, 40_000]);
    expect(seen).toMatchObject({ traps: 5, collapsed: 3 });
  });
  test("of two threads are two accesses", () => {
    const traps = [step(10_000, 1), { ...step(20_000, 2), tid: 2 }];
    expect(seenAccesses(traps, watched, repeated).accesses.length).toBe(2);
  });
  test("are one access however long the thread waits for a CPU in the middle of it", () => {
    const late = { ...watched, endNs: 10_000_000_000n };
    const seen = seenAccesses([step(1, 1), step(9_000_000_000, 2)], late, repeated);
    expect(seen).toMatchObject({ traps: 2, collapsed: 1 });
  });
  test("end with the one at the next instruction, and another goes on where it stopped", () => {
    const decode = ({ ip }: { ip: bigint }): DecodedAccess => ({ ...repeated(), repeated: ip === 100n });
    const traps = [step(1, 1), { ...step(2, 2), ip: 102n }, step(3, 3)];
    expect(seenAccesses(traps, watched, decode).accesses.map(({ trap }) => trap.timeNs)).toEqual([1n, 3n]);
  });
  test("in the kernel are two copies across a pause", () => {
    const kernel = (time: number, bytes: number) => ({ ...step(time, bytes), inKernel: true });
    const long = { ...watched, endNs: 10_000_000n };
    expect(seenAccesses([kernel(1, 1), kernel(900_000, 2)], long, unknown).accesses.length).toBe(1);
    expect(seenAccesses([kernel(1, 1), kernel(2_000_000, 2)], long, unknown).accesses.length).toBe(2);
  });
  test("in the kernel tell by the register that moves what they did, where both are near", () => {
    const kernel = (time: number, bytes: number) =>
      trap(time, { inKernel: true, registerSi: ADDR, registerDi: ADDR + BigInt(bytes) });
    const seen = seenAccesses([kernel(10_000, 1), kernel(20_000, 2)], watched, unknown);
    expect(seen.accesses.map(({ op, evidence }) => `${op} ${evidence}`)).toEqual(["store registers"]);
  });
});
