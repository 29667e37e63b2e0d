import { describe, expect, test } from "bun:test";
import { effectiveAddress } from "../../../src/code/effective-address.ts";
import { operandAt } from "../../../src/code/memory-operand.ts";
import { GENERAL_PLACES, PLACE, PLACES, registerFile } from "../../../src/code/register-file.ts";
import { wordsOf } from "../../../src/schema/row.ts";

const OPS = wordsOf("access", "op_type");

const NAMES: Readonly<Record<string, number>> = { ...GENERAL_PLACES, ...PLACE };
const VALUES: Readonly<Record<string, bigint>> = {
  ax: 0x7f00_0000_1234n,
  cx: 0x10n,
  dx: 0xffff_ffff_ffff_fff0n,
  bx: 0x7fff_ffff_f000n,
  sp: 0x7ffd_0000_8000n,
  si: 0x6000_0000_0000n,
  di: 0x5000_0000_0000n,
  r12: 0x1_0000_0000n,
  rip: 0x5555_0000_1000n,
  fs_base: 0x7f11_2222_3740n,
  gs_base: 0xf_ffff_fff0n,
};

/** Access of the instruction of these bytes: its op and address, or why there is none. */
function access(hex: string, without: readonly string[] = []): string {
  const operand = operandAt(Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex")));
  if (typeof operand === "string") return operand;
  const file = registerFile();
  file.known = 2 ** PLACES - 1;
  for (const [name, value] of Object.entries(VALUES)) {
    const place = NAMES[name] ?? 0;
    file.words[2 * place] = Number(value & 0xffffffffn);
    file.words[2 * place + 1] = Number(value >> 32n);
  }
  for (const name of without) file.known &= ~(1 << (NAMES[name] ?? 0));
  const out = new Uint32Array(2);
  if (!effectiveAddress(operand, file, out)) return "not known";
  const address = (BigInt(out[1] ?? 0) << 32n) | BigInt(out[0] ?? 0);
  return `${OPS[operand.op]} ${address.toString(16)}`;
}

describe("the address of the instruction that is next", () => {
  test.each([
    ["mov rax, [rax]", "48 8b 00", "load 7f0000001234"],
    ["mov [rax + rcx*8 + 16], rdx", "48 89 54 c8 10", "store 7f00000012c4"],
    ["add [r12 + 4], eax", "41 01 44 24 04", "load_store 100000004"],
    ["mov eax, [rsi + rdx] wraps around", "8b 04 16", "load 5ffffffffff0"],
    ["mov rax, [rsi + rdx*8] wraps around", "48 8b 04 d6", "load 5fffffffff80"],
    ["mov rax, [rbx - 8]", "48 8b 43 f8", "load 7fffffffeff8"],
    ["mov rax, [rip + 16] counts from its own end", "48 8b 05 10 00 00 00", "load 555500001017"],
    ["mov rax, [rip - 16]", "48 8b 05 f0 ff ff ff", "load 555500000ff7"],
    ["mov eax, [eax + ebx] has 32 bits", "67 8b 04 18", "load 234"],
    ["xlat counts the low byte of rax", "d7", "load 7ffffffff034"],
    ["push rax stores below the stack pointer", "50", "store 7ffd00007ff8"],
    ["ret loads the stack", "c3", "load 7ffd00008000"],
    ["movaps [rdi], xmm0", "0f 29 07", "store 500000000000"],
  ])("%s", (_name, hex, expected) => {
    expect(access(hex)).toBe(expected);
  });

  test.each([
    ["mov rax, fs:0x28", "64 48 8b 04 25 28 00 00 00", "load 7f1122223768"],
    ["mov rax, fs:[-8], as thread-local variables lie", "64 48 8b 04 25 f8 ff ff ff", "load 7f1122223738"],
    ["mov [fs:rcx*8 - 64], eax", "64 89 04 cd c0 ff ff ff", "store 7f1122223780"],
    ["add rax, gs:[rcx] carries into the high word", "65 48 03 01", "load 1000000000"],
    ["mov eax, fs:[eax + ebx] adds the base after 32 bits", "64 67 8b 04 18", "load 7f1122223974"],
  ])("through a segment: %s", (_name, hex, expected) => {
    expect(access(hex)).toBe(expected);
  });

  test("is that of the read where an instruction has several accesses", () => {
    expect(access("a4"), "movsb").toBe("load 600000000000");
    expect(access("f3 48 a5"), "rep movsq").toBe("load 600000000000");
    expect(access("ff 30"), "push [rax]").toBe("load 7f0000001234");
    expect(access("ff 10"), "call [rax]").toBe("load 7f0000001234");
  });

  test("is none where no memory is accessed, and unknown where no register says it", () => {
    expect(access("48 8d 04 08"), "lea").toBe("none");
    expect(access("0f 18 08"), "prefetch").toBe("none");
    expect(access("48 01 d8"), "add rax, rbx").toBe("none");
    expect(access("c4 e2 7d 90 04 0f"), "a gather").toBe("unknown");
    expect(access("06"), "no instruction").toBe("unknown");
    expect(access("48 8b"), "cut").toBe("unknown");
    expect(access(""), "nothing").toBe("unknown");
  });

  test("is not known where a register or the base of a segment is missing", () => {
    expect(access("48 8b 00", ["ax"])).toBe("not known");
    expect(access("48 8b 04 d6", ["dx"])).toBe("not known");
    expect(access("64 48 8b 04 25 28 00 00 00", ["fs_base"])).toBe("not known");
    expect(access("48 8b 00", ["fs_base", "gs_base"])).toBe("load 7f0000001234");
  });
});
