import { expect, test } from "bun:test";
import { nearAddresses } from "../../../../../src/code/near-addresses.ts";
import { createNearTicks, type ReadWord } from "../../../../../src/collect/ebpf/clock/near-ticks.ts";
import { type Tick, tickBlocks } from "../../../../fixtures/tick-blocks.ts";

const code = (...bytes: number[]) =>
  nearAddresses((offset, length) => Uint8Array.from(bytes).slice(offset, offset + length), { before: 0, behind: null });
const IP = 0x5555_0000_0000n;
/** By the last digit of the instruction's address. */
const CODE = [
  // mov rax, [rsp + 8]; mov rcx, [rsp + 16]; mov rdx, [rsp + 256]
  code(0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x8b, 0x4c, 0x24, 0x10, 0x48, 0x8b, 0x94, 0x24, 0, 1, 0, 0),
  null,
  // mov rax, [rsp]; mov rax, [rax]
  code(0x48, 0x8b, 0x04, 0x24, 0x48, 0x8b, 0x00),
];
const tick = (digit: number, more: Tick = {}): Tick => ({
  timestamp_ns: 9_000_000_000n,
  ip: IP + BigInt(digit),
  sp: 0x7ffd_1234_5640n,
  pid: 70n,
  ...more,
});

function read(
  ticks: readonly Tick[],
  began: (pid: number) => number | undefined = () => undefined,
  readWord: ReadWord = () => null,
) {
  const near = createNearTicks({ find: (_, ip) => CODE[ip % 16] ?? null, forget() {} }, began, readWord);
  const found: [pid: number, address: number][] = [];
  near.read(tickBlocks([ticks]), (pid, address) => found.push([pid, address]));
  return { found, located: near.located() };
}

test("a tick is where the code around it accesses memory, each line once", () => {
  const { found, located } = read([tick(0), tick(1)]);
  expect(found).toEqual([
    [70, 0x7ffd_1234_5640],
    [70, 0x7ffd_1234_5740],
  ]);
  expect(located).toBe(1);
});

test("a tick is also where a pointer in memory of its process leads, where that can be read", () => {
  const asked: [number, bigint][] = [];
  const readWord = (pid: number, address: bigint): Uint8Array | null => {
    asked.push([pid, address]);
    return pid === 70 ? Uint8Array.of(0, 0x10, 0, 0, 0x34, 0x12, 0, 0) : null;
  };
  const { found } = read([tick(2), tick(2, { pid: 71n })], undefined, readWord);
  expect(asked).toEqual([
    [70, 0x7ffd_1234_5640n],
    [71, 0x7ffd_1234_5640n],
  ]);
  expect(found).toEqual([
    [70, 0x7ffd_1234_5640],
    [70, 0x1234_0000_1000],
    [71, 0x7ffd_1234_5640],
  ]);
});

test("the kernel's addresses are no place of a program", () => {
  expect(read([tick(0, { sp: 0xffff_8880_0000_0000n })])).toEqual({ found: [], located: 0 });
});

test("a tick from before a process began its program says nothing of that program's code", () => {
  expect(read([tick(0)], () => 9_000_000_001).located).toBe(0);
  expect(read([tick(0)], () => 9_000_000_000).located).toBe(1);
});
