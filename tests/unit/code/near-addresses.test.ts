import { describe, expect, test } from "bun:test";
import { MOST_SLOTS, runProgram } from "../../../src/code/address-program.ts";
import { nearAddresses } from "../../../src/code/near-addresses.ts";
import { GENERAL_PLACES, PLACE } from "../../../src/code/register-file.ts";

/** A loop over an array at rdi, with the index in rcx: at 0, 4, 7, 10 and 13. */
const LOOP = [
  ...[0x48, 0x8b, 0x04, 0xcf], // mov rax, [rdi + 8 rcx]
  ...[0x48, 0x01, 0xc6], // add rsi, rax
  ...[0x48, 0xff, 0xc1], // inc rcx
  ...[0x48, 0x39, 0xd1], // cmp rcx, rdx
  ...[0x75, 0xf1], // jne to the first
];
const LOAD = [0x48, 0x8b, 0x00]; // mov rax, [rax]
const NOP = [0x90];
const CALL = [0xe8, 0, 0, 0, 0];
const REGISTERS = { di: 0x10000n, cx: 5n, sp: 0x7000n, ax: 0x20000n, bx: 0xffff_ffff_0000_0010n };

/** Addresses that are found at a place of some code, whose function begins `before` bytes in front of it. */
function addresses(
  code: readonly number[],
  place: number,
  before = place,
  memory: Readonly<Record<string, bigint>> = {},
): bigint[] {
  const bytes = Uint8Array.from(code);
  const slots = new BigUint64Array(MOST_SLOTS);
  for (const [name, value] of Object.entries(REGISTERS)) {
    slots[GENERAL_PLACES[name as keyof typeof REGISTERS]] = value;
  }
  slots[PLACE.rip] = 0x5000n;
  slots[PLACE.fs_base] = 0x9000n;
  const read = (offset: number, length: number) => bytes.slice(place + offset, place + offset + length);
  const program = nearAddresses(read, { before, behind: code.length - place });
  const unknown = runProgram(program, new Uint32Array(slots.buffer), (low, high, slot) => {
    const word = memory[`0x${((BigInt(high) << 32n) | BigInt(low)).toString(16)}`];
    if (word !== undefined) slots[slot] = word;
    return word !== undefined;
  });
  return program.addresses.filter((slot) => !unknown.has(slot)).map((slot) => slots[slot] ?? 0n);
}

/** Where rax points to behind some instructions. */
const pointsTo = (...instructions: number[]): bigint | undefined => addresses([...instructions, ...LOAD], 0)[0];

describe("the addresses near a place", () => {
  test("are those of the instruction that comes next", () => {
    expect(addresses(LOOP, 0, 0)).toEqual([0x10028n]);
  });

  test("are those of what ran before it, as its registers were then", () => {
    expect(addresses([...LOOP.slice(0, 4), ...NOP], 4)).toEqual([0x10028n]);
    expect(addresses([...LOOP.slice(0, 10), ...NOP], 10)).toEqual([0x10020n]);
  });

  test("are those of the loop's next turn, where its index is then, and of the last one", () => {
    expect(addresses(LOOP, 4)).toEqual([0x10030n, 0x10028n]);
    expect(addresses(LOOP, 7)).toEqual([0x10030n, 0x10028n]);
    expect(addresses(LOOP, 10)).toEqual([0x10028n, 0x10020n]);
    expect(addresses(LOOP, 13)).toEqual([0x10028n, 0x10020n]);
  });

  test("follow through copies, sums and addresses that are put into registers", () => {
    expect(pointsTo(0x48, 0x89, 0xf8)).toBe(0x10000n); // mov rax, rdi
    expect(pointsTo(0xb8, 0, 0x10, 0x40, 0)).toBe(0x401000n); // mov eax, 0x401000
    expect(pointsTo(0x48, 0x8d, 0x44, 0xcf, 8)).toBe(0x10030n); // lea rax, [rdi + 8 rcx + 8]
    expect(pointsTo(0x48, 0x8d, 0x05, 0x10, 0, 0, 0)).toBe(0x5017n); // lea rax, [rip + 16]
    expect(pointsTo(0x48, 0x01, 0xf8)).toBe(0x30000n); // add rax, rdi
    expect(pointsTo(0x48, 0x83, 0xe8, 0x08)).toBe(0x1fff8n); // sub rax, 8
    expect(pointsTo(0x48, 0x89, 0xc8, 0x48, 0x6b, 0xc0, 0x18)).toBe(120n); // mov rax, rcx; imul rax, rax, 24
    expect(pointsTo(0x48, 0xc1, 0xe0, 0x02, 0x48, 0xd3, 0xe8)).toBe(0x4000n); // shl rax, 2; shr rax, cl
    expect(pointsTo(0x48, 0x89, 0xd8, 0x48, 0xc1, 0xf8, 0x1c)).toBe(0xffff_ffff_ffff_fff0n); // mov rax, rbx; sar rax, 28
  });

  test("have 32 bits where the code's registers have, and their sign where it is copied", () => {
    expect(pointsTo(0x89, 0xd8)).toBe(0x10n); // mov eax, ebx
    expect(pointsTo(0x8d, 0x43, 0xe0)).toBe(0xffff_fff0n); // lea eax, [rbx - 32]
    expect(pointsTo(0x8d, 0x43, 0xe0, 0x48, 0x98)).toBe(0xffff_ffff_ffff_fff0n); // lea eax, [rbx - 32]; cdqe
    expect(pointsTo(0x48, 0x63, 0xc3)).toBe(0x10n); // movsxd rax, ebx
    expect(pointsTo(0x0f, 0xb6, 0xc1)).toBe(5n); // movzx eax, cl
    expect(pointsTo(0x83, 0xe0, 0xf0)).toBe(0x20000n); // and eax, -16
    expect(pointsTo(0x31, 0xc0)).toBe(0n); // xor eax, eax
    expect(pointsTo(0xb1, 33, 0x89, 0xf8, 0xd3, 0xe0)).toBeUndefined(); // mov cl, 33; mov eax, edi; shl eax, cl
  });

  test("follow what memory holds, as far as it can be read", () => {
    // mov rax, rcx; add rax, [rdi]; mov rax, [rax]
    const indirect = [0x48, 0x89, 0xc8, 0x48, 0x03, 0x07, ...LOAD];
    expect(addresses(indirect, 0, 0, { "0x10000": 0x40000n })).toEqual([0x10000n, 0x40005n]);
    expect(addresses(indirect, 0, 0)).toEqual([0x10000n]);
    // Pointers that lead on.
    expect(addresses([...LOAD, ...LOAD, ...LOAD], 0, 0, { "0x20000": 0x30000n, "0x30000": 0x50000n })).toEqual([
      0x20000n,
      0x30000n,
      0x50000n,
    ]);
    expect(addresses([...LOAD, ...LOAD], 0)).toEqual([0x20000n]);
  });

  test("follow no memory behind a branch that the program may not take, which might not be there", () => {
    const jump = [0x75, 0x00]; // jne to the next
    const memory = { "0x20000": 0x30000n, "0x30000": 0x50000n };
    expect(addresses([...jump, ...LOAD, ...LOAD], 0, 0, memory)).toEqual([0x20000n]);
    expect(addresses([...LOAD, ...jump, ...LOAD, ...LOAD], 0, 0, memory)).toEqual([0x20000n, 0x30000n]);
    const always = [0xeb, 0x00]; // jmp to the next
    expect(addresses([...always, ...LOAD, ...LOAD], 0, 0, memory)).toEqual([0x20000n, 0x30000n]);
  });

  test("take as many bytes of memory as the instruction does, with their sign where it is copied", () => {
    const memory = { "0x10000": 0xffff_fff0_8000_0020n };
    const pointed = (...instructions: number[]): bigint | undefined =>
      addresses([...instructions, ...LOAD], 0, 0, memory)[1];
    expect(pointed(0x8b, 0x07)).toBe(0x8000_0020n); // mov eax, [rdi]
    expect(pointed(0x48, 0x63, 0x07)).toBe(0xffff_ffff_8000_0020n); // movsxd rax, [rdi]
    expect(pointed(0x0f, 0xb6, 0x07)).toBe(0x20n); // movzx eax, byte [rdi]
    expect(pointed(0x48, 0x8b, 0x07)).toBe(0xffff_fff0_8000_0020n); // mov rax, [rdi]
  });

  test("follow eight places of memory and no more, as each is a call of the kernel", () => {
    const words = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`0x${(0x20000 + 8 * i).toString(16)}`, BigInt(0x20008 + 8 * i)]),
    );
    expect(addresses(Array(12).fill(LOAD).flat(), 0, 0, words)).toEqual(
      Array.from({ length: 9 }, (_, i) => BigInt(0x20000 + 8 * i)),
    );
  });

  test("are none where a part of them comes from a flag or a part of a register", () => {
    expect(pointsTo(0x48, 0x0f, 0x44, 0xc1)).toBeUndefined(); // cmove rax, rcx
    expect(pointsTo(0xb0, 0x08)).toBeUndefined(); // mov al, 8
    expect(pointsTo(0x0f, 0xb6, 0xc4)).toBeUndefined(); // movzx eax, ah
    expect(pointsTo(0x66, 0x4c, 0x0f, 0x7e, 0xc0)).toBeUndefined(); // movq rax, xmm8
  });

  test("behind it have what was copied from a register that is another now", () => {
    const copied = [0x48, 0x89, 0xf8, 0x48, 0x8b, 0x17, 0x48, 0x89, 0xcf]; // mov rax, rdi; mov rdx, [rdi]; mov rdi, rcx
    expect(addresses([...copied, ...NOP], 9)).toEqual([0x20000n]);
    const computed = [0x48, 0x8d, 0x04, 0xcf, ...LOAD]; // lea rax, [rdi + 8 rcx]; mov rax, [rax]
    expect(addresses([...computed, ...NOP], 7)).toEqual([0x10028n]);
  });

  test("behind it begin where a branch of the function comes in", () => {
    // mov rax, [rdi]; nop; nop; ret, and a branch from further on: to the first nop, the second one, and behind them
    const code = [0x48, 0x8b, 0x07, ...NOP, ...NOP, 0xc3];
    expect(addresses(code, 4)).toEqual([0x7000n, 0x10000n]);
    expect(addresses([...code, 0x74, -5 & 0xff], 4)).toEqual([0x7000n]);
    expect(addresses([...code, 0x74, -4 & 0xff], 4)).toEqual([0x7000n]);
    expect(addresses([...code, 0x74, -3 & 0xff], 4)).toEqual([0x7000n, 0x10000n]);
  });

  test("are none where the function does not begin where it should, or is not known, and nothing comes behind", () => {
    expect(addresses([...LOOP.slice(0, 7), ...NOP], 7, 1)).toEqual([]);
    expect(addresses([...LOOP.slice(0, 7), ...NOP], 7, 0)).toEqual([]);
  });

  test("end with a call, as nobody knows which registers it changes", () => {
    expect(addresses([...CALL, ...LOOP.slice(0, 4)], 0)).toEqual([0x6ff8n]);
    expect(addresses([...LOOP.slice(0, 4), ...CALL, 0x90], 9)).toEqual([]);
  });

  test("of a stack are where it is by then", () => {
    expect(addresses([0x50, 0x50, 0x58], 0)).toEqual([0x6ff8n, 0x6ff0n]); // push rax; push rax; pop rax
    expect(addresses([0x50, ...NOP], 1)).toEqual([0x7000n]);
    expect(addresses([0x5c, 0x58], 0)).toEqual([0x7000n]); // pop rsp; pop rax
  });

  test("beside the instruction pointer are where the instruction itself lies", () => {
    const load = [0x48, 0x8b, 0x05, 0x10, 0, 0, 0]; // mov rax, [rip + 16]
    expect(addresses([0x90, ...load], 0)).toEqual([0x5018n]);
    expect(addresses([...load, 0x90], 7)).toEqual([0x5010n]);
  });

  test("of a thread's own memory count from its base", () => {
    expect(addresses([0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0], 0)).toEqual([0x9028n]); // mov rax, fs:[40]
  });

  test("are each computed once", () => {
    expect(addresses([0x48, 0x8b, 0x17, 0x48, 0x8b, 0x37], 0)).toEqual([0x10000n]); // mov rdx, [rdi]; mov rsi, [rdi]
  });

  test("are none of bytes that are no instructions", () => {
    expect(addresses([0x06, 0x06], 0)).toEqual([]);
    expect(addresses([], 0)).toEqual([]);
  });
});
