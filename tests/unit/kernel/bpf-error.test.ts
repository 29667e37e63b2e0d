import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { MrmTraceError } from "../../../src/errors.ts";
import { refusal } from "../../../src/kernel/bpf-error.ts";
import { loadBpfObject } from "../../../src/kernel/bpf-object.ts";
import { bpfObjectPath } from "../../../src/kernel/bpf-object-files.ts";
import { perfEventOpen } from "../../../src/kernel/perf-event.ts";
import { headerMark } from "../../../src/schema/c-header.ts";

describe("a refused BPF call", () => {
  test("is told with errno, the end of the verifier's log, and a fix", () => {
    const log = Array.from({ length: 100 }, (_, i) => `line ${i}`).join("\n");
    const error = refusal("loading the BPF object x", 22, log);
    expect(error).toBeInstanceOf(MrmTraceError);
    expect(error.code).toBe("environment");
    expect(error.message).toStartWith("loading the BPF object x failed: EINVAL\n");
    expect(error.message).toEndWith("line 99");
    expect(error.message).not.toContain("line 3\n");
    expect(error.hint).toContain("verifier");
  });

  test("without the right to make it says which", () => {
    for (const errno of [1, 13]) expect(refusal("x", errno, "").hint).toContain("sudo");
    expect(refusal("x", -1, "").message).toContain("EPERM");
  });

  test("that the verifier refused is no matter of rights, though it says EACCES", () => {
    const error = refusal("x", 13, "R1 invalid mem access 'scalar'");
    expect(error.message).toContain("invalid mem access");
    expect(error.hint).not.toContain("sudo");
  });

  test("on a kernel without BTF or tracefs names them", () => {
    expect(refusal("x", 2, "").hint).toContain("/sys/kernel/btf/vmlinux");
  });
});

/** Loads dist/bpf/NAME.bpf.o from a folder of its own, compiled from this text with a header of that mark. */
async function loadingFails(body: string, mark = headerMark()): Promise<MrmTraceError> {
  const folder = mkdtempSync(join(tmpdir(), "mrm-bpf-"));
  try {
    const source = join(folder, "broken.bpf.c");
    const license = 'char LICENSE[] __attribute__((section("license"))) = "Dual BSD/GPL";';
    const header = `static const char mark[] SEC("mrm.header") = "${mark}";`;
    const words = ["#define SEC(name) __attribute__((section(name), used))", body, header, license];
    writeFileSync(source, `${words.join("\n")}\n`);
    const object = join(folder, "broken.bpf.o");
    const clang = Bun.spawnSync(["clang-19", "-g", "-O2", "-target", "bpf", "-c", source, "-o", object], {
      stderr: "pipe",
    });
    if (clang.exitCode !== 0) throw new Error(`clang-19 failed: ${clang.stderr}`);
    const name = relative(join(bpfObjectPath("x"), ".."), object).replace(/\.bpf\.o$/, "");
    await loadBpfObject(name);
  } catch (error) {
    if (error instanceof MrmTraceError) return error;
    throw error;
  } finally {
    rmSync(folder, { recursive: true });
  }
  throw new Error("the broken object was loaded");
}

describe("a BPF object", () => {
  test("with a program that reads where it may not is refused with the verifier's own words", async () => {
    const error = await loadingFails(
      'SEC("tp/syscalls/sys_enter_brk") int bad(void *ctx) { return *(volatile int *)16; }',
    );
    expect(error.code).toBe("environment");
    expect(error.message).toMatch(/failed: (EACCES|EINVAL)\n/);
    expect(error.message).toContain("invalid mem access");
    expect(error.hint).toContain("verifier");
  });

  test("that was compiled with another header is refused, and answered with the command that builds it", async () => {
    const error = await loadingFails('SEC("tp/syscalls/sys_enter_brk") int good(void *ctx) { return 0; }', "another");
    expect(error).toMatchObject({ code: "environment", hint: expect.stringContaining("run scripts/build-bpf") });
    expect(error.message).toEndWith("was compiled from another source than this one");
  });

  test("that is no ELF file is refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mrm-bpf-"));
    writeFileSync(join(folder, "text.bpf.o"), "not an object");
    const name = relative(join(bpfObjectPath("x"), ".."), join(folder, "text"));
    const error = await loadBpfObject(name).catch((caught: unknown) => caught);
    rmSync(folder, { recursive: true });
    expect(error).toBeInstanceOf(MrmTraceError);
    expect((error as MrmTraceError).message).toContain("opening the BPF object");
  });

  test("that is not built is answered with the command that builds it", async () => {
    const error = await loadBpfObject("no-such-object").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "environment", hint: expect.stringContaining("run scripts/build-bpf") });
  });

  test("without a map or a program of the name says so", async () => {
    using object = await loadBpfObject("lifecycle");
    expect(() => object.map("nothing")).toThrow("has no map nothing");
    expect(() => object.program("nothing")).toThrow("has no program nothing");
  });
});

test("a perf event of a process that is gone is refused with errno and a fix", () => {
  const attr = { type: 1, config: 9, sample_period: 1, flags: [] };
  const open = () => perfEventOpen(attr, 2 ** 22 + 5, -1, "a test");
  expect(open).toThrow(/a test .* failed: ESRCH/);
  expect(open).toThrow(MrmTraceError);
});
