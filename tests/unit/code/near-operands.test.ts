import { describe, expect, test } from "bun:test";
import { effectiveAddress } from "../../../src/code/effective-address.ts";
import { nearOperands } from "../../../src/code/near-operands.ts";
import { GENERAL_PLACES, PLACE, PLACES, registerFile } from "../../../src/code/register-file.ts";

/** A loop over an array at rdi, with the index in rcx: at 0, 4, 7, 10 and 13. */
const LOOP = [
  ...[0x48, 0x8b, 0x04, 0xcf], // mov rax, [rdi + 8 rcx]
  ...[0x48, 0x01, 0xc6], // add rsi, rax
  ...[0x48, 0xff, 0xc1], // inc rcx
  ...[0x48, 0x39, 0xd1], // cmp rcx, rdx
  ...[0x75, 0xf1], // jne to the first
];
const IP = 0x5000;
const REGISTERS = { di: 0x10000, cx: 5, sp: 0x7000 };

/** Addresses that are found at a place of some code. */
function addresses(code: readonly number[], place: number, before = place): number[] {
  const bytes = Uint8Array.from(code);
  const registers = registerFile();
  registers.known = 2 ** PLACES - 1;
  for (const [name, value] of Object.entries(REGISTERS)) {
    registers.words[2 * GENERAL_PLACES[name as keyof typeof REGISTERS]] = value;
  }
  registers.words[2 * PLACE.rip] = IP;
  const address = new Uint32Array(2);
  const read = (offset: number, length: number) => bytes.slice(place + offset, place + offset + length);
  return nearOperands(read, before).map((operand) => {
    expect(effectiveAddress(operand, registers, address)).toBe(true);
    return address[0] ?? 0;
  });
}

describe("the operands near a place", () => {
  test("are those of the instruction that comes next", () => {
    expect(addresses(LOOP, 0, 0)).toEqual([0x10028]);
  });

  test("are those of what ran before it, where their registers are the same still", () => {
    expect(addresses(LOOP, 4)).toEqual([0x10028]);
    expect(addresses(LOOP, 7)).toEqual([0x10028]);
  });

  test("are those of the loop's next turn, once its index has moved on", () => {
    expect(addresses(LOOP, 10)).toEqual([0x10028]);
    expect(addresses(LOOP, 13)).toEqual([0x10028]);
  });

  test("are none where the function does not begin where it should, or is not known, and nothing comes behind", () => {
    expect(addresses(LOOP, 7, 1)).toEqual([]);
    expect(addresses(LOOP, 7, 0)).toEqual([]);
  });

  test("end with a call, as nobody knows which registers it changes", () => {
    const call = [0xe8, 0, 0, 0, 0];
    expect(addresses([...call, ...LOOP.slice(0, 4)], 0)).toEqual([0x6ff8]);
    expect(addresses([...LOOP.slice(0, 4), ...call, 0x90], 9)).toEqual([]);
  });

  test("beside the instruction pointer are where the instruction itself lies", () => {
    const load = [0x48, 0x8b, 0x05, 0x10, 0, 0, 0]; // mov rax, [rip + 16]
    expect(addresses([0x90, ...load], 0)).toEqual([IP + 8 + 16]);
    expect(addresses([...load, 0x90], 7)).toEqual([IP + 16]);
  });

  test("are none of bytes that are no instructions", () => {
    expect(addresses([0x06, 0x06], 0)).toEqual([]);
    expect(addresses([], 0)).toEqual([]);
  });
});
