import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CodeObject, createCodeMap } from "../../../src/code/code-bytes.ts";
import { createAccessDecoder, type DecodedAccess } from "../../../src/code/trap-operation.ts";
import { bytesInMemory } from "../../../src/elf/byte-view.ts";
import { readElf } from "../../../src/elf/elf.ts";

const SOURCE = join(import.meta.dir, "../../fixtures/watch/accesses.S");
const BASE = 0x10000;
const WATCHED = 0x7000_0000_1000n;

function assemble(): CodeObject {
  const path = join(mkdtempSync(join(tmpdir(), "decode-")), "accesses.so");
  const { exitCode, stderr } = Bun.spawnSync(["cc", "-shared", "-nostdlib", "-o", path, SOURCE]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  const bytes = new Uint8Array(readFileSync(path));
  const elf = readElf(bytes);
  if (!elf.ok) throw new Error(elf.reason);
  return { key: "accesses", bytes: bytesInMemory(bytes), elf };
}
const object = assemble();
const decode = createAccessDecoder({
  locate: (_, ip) => (ip < BASE ? null : { object, vaddr: ip - BASE }),
});

function at(label: string, si = 0n, di = 0n, inKernel = false): DecodedAccess {
  const symbol = object.elf.dynamicSymbol(label);
  if (!symbol) throw new Error(`no label ${label}`);
  const ip = BigInt(symbol.vaddr + BASE);
  return decode({ pid: 1, ip, registerSi: si, registerDi: di, addr: WATCHED, sizeBytes: 8, inKernel });
}

describe("an access decoded from its instruction", () => {
  test.each([
    ["load8", "load"],
    ["load1", "load"],
    ["load_zmm", "load"],
    ["gather", "load"],
    ["masked_load", "load"],
    ["compare", "load"],
    ["sse_movsd", "load"],
    ["pop_register", "load"],
    ["after_call", "load"],
    ["store8", "store"],
    ["store4", "store"],
    ["store_zmm", "store"],
    ["masked_store", "store"],
    ["avx_masked_store", "store"],
    ["stream_store", "store"],
    ["push_register", "store"],
    ["inc_rmw", "load_store"],
    ["add_rmw", "load_store"],
    ["cmpxchg_rmw", "load_store"],
    ["xadd_rmw", "load_store"],
    ["xchg_rmw", "load_store"],
  ])("%s is a %s", (label, op) => {
    expect(at(label)).toEqual({ op: op as DecodedAccess["op"], evidence: "decoded", repeated: false });
  });

  test.each(["push_memory", "prefetch", "lea_only", "after_jump", "after_syscall", "target"])(
    "%s does not say what the access was",
    (label) => {
      expect(at(label)).toEqual({ op: "unknown", evidence: "none", repeated: false });
    },
  );
});

describe("a repeated string instruction", () => {
  test("that is still running reads where rsi is and writes where rdi is", () => {
    const far = WATCHED + 0x10000n;
    expect(at("rep_movs", WATCHED + 3n, far)).toEqual({ op: "load", evidence: "registers", repeated: true });
    expect(at("rep_movs", far, WATCHED + 3n)).toEqual({ op: "store", evidence: "registers", repeated: true });
    expect(at("after_rep_movs", WATCHED + 8n, far)).toEqual({ op: "load", evidence: "registers", repeated: false });
    expect(at("rep_stos", 0n, WATCHED + 8n)).toEqual({ op: "store", evidence: "registers", repeated: true });
  });
  test("that copies from the watched bytes onto themselves stays unknown", () => {
    expect(at("rep_movs", WATCHED + 4n, WATCHED + 5n).op).toBe("unknown");
  });
  test("with one operand needs no registers once it is done", () => {
    expect(at("after_rep_stos").op).toBe("store");
    expect(at("after_scas").op).toBe("load");
    expect(at("after_lods").op).toBe("load");
  });
  test("with two operands and neither near the watched bytes stays unknown", () => {
    expect(at("after_rep_movs")).toEqual({ op: "unknown", evidence: "none", repeated: false });
  });
});

describe("code that cannot be decoded", () => {
  test("in the kernel is told by the registers of its copy, or unknown", () => {
    expect(at("load8", WATCHED, 0n, true)).toEqual({ op: "load", evidence: "registers", repeated: false });
    expect(at("load8", 0n, WATCHED + 4n, true)).toEqual({ op: "store", evidence: "registers", repeated: false });
    expect(at("load8", 0n, 0n, true).op).toBe("unknown");
  });
  test("in no mapped file is unknown", () => {
    const trap = { pid: 1, ip: 16n, registerSi: 0n, registerDi: 0n, addr: WATCHED, sizeBytes: 8, inKernel: false };
    expect(decode(trap).op).toBe("unknown");
    expect(decode({ ...trap, ip: 0xffff_ffff_8100_0000n }).op).toBe("unknown");
  });
  test("that begins in the middle of an instruction is unknown", () => {
    const load8 = object.elf.dynamicSymbol("load8");
    const ip = BigInt((load8?.vaddr ?? 0) + BASE - 1);
    const trap = { pid: 1, ip, registerSi: 0n, registerDi: 0n, addr: WATCHED, sizeBytes: 8, inKernel: false };
    expect(decode(trap).op).toBe("unknown");
  });
});

describe("the code map of a running process", () => {
  test("finds a function of the C library of this process in the file that holds it", () => {
    const line = readFileSync("/proc/self/maps", "latin1")
      .split("\n")
      .find((l) => / r-xp .*libc\.so\.6$/.test(l));
    const [, low, , offset] = /^([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+)/.exec(line ?? "") ?? [];
    const start = Number.parseInt(low ?? "", 16);
    using map = createCodeMap(() => 0);
    const location = map.locate(process.pid, start + 16);
    expect(location?.object.elf.soname()).toBe("libc.so.6");
    expect(location?.object.elf.fileOffset(location.vaddr)).toBe(Number.parseInt(offset ?? "", 16) + 16);
  });
  test("answers nothing for anonymous memory and for a process that is gone", () => {
    using map = createCodeMap(() => 0);
    expect(map.locate(process.pid, 4096)).toBeNull();
    expect(map.locate(0x3fffffff, 4096)).toBeNull();
  });
});
