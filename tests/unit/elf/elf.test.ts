import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ElfFile, readElf } from "../../../src/elf/elf.ts";

const LIBC = "/lib/x86_64-linux-gnu/libc.so.6";

function run(...command: string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
  return stdout.toString();
}
function open(path: string): ElfFile {
  const elf = readElf(new Uint8Array(readFileSync(path)));
  if (!elf.ok) throw new Error(elf.reason);
  return elf;
}
/** Default and only versions of the defined functions and objects, as nm sees them. */
function namesByNm(path: string): Map<string, number> {
  const names = new Map<string, number>();
  for (const line of run("nm", "-D", "--defined-only", path).split("\n")) {
    const match = /^([0-9a-f]+) ([TtWwDdBbRrViu]) ([^@]+)(@@?.*)?$/.exec(line);
    if (!match || (match[4] !== undefined && !match[4].startsWith("@@"))) continue;
    names.set(match[3] ?? "", Number.parseInt(match[1] ?? "", 16));
  }
  return names;
}

describe("a program that is linked statically, without a table of its unwind entries", () => {
  const path = join(mkdtempSync(join(tmpdir(), "mrm-elf-")), "static");
  const source = "int twice(int x) { return 2 * x; } int main(int n, char **v) { return twice(n) + (v == 0); }";
  writeFileSync(`${path}.c`, source);
  run("cc", "-O1", "-fno-inline", "-static", "-o", path, `${path}.c`);
  const functions = run("nm", "--defined-only", path)
    .split("\n")
    .flatMap((line) => /^([0-9a-f]+) [Tt] (twice|main|malloc|memcpy|qsort)$/.exec(line)?.slice(1, 3) ?? []);

  test("has its functions by name, exported or not, by the whole table of symbols", () => {
    const elf = open(path);
    const local = elf.localFunctions(["twice", "main", "malloc", "wice", "no such function"]);
    expect([...local.keys()].sort()).toEqual(["main", "malloc", "twice"]);
    for (const [name, { type, vaddr, fileOffset }] of local) {
      expect([name, vaddr, type]).toEqual([
        name,
        Number.parseInt(functions[functions.indexOf(name) - 1] ?? "", 16),
        "function",
      ]);
      expect(fileOffset).toBe(elf.fileOffset(vaddr));
    }
    expect(elf.dynamicSymbol("twice")).toBeUndefined();
  });

  test("tells its functions by the entries themselves, also when it was stripped", () => {
    run("strip", path);
    expect(open(path).localFunctions(["twice"]).size).toBe(0);
    const starts = open(path).functionStarts();
    expect(starts?.count ?? 0).toBeGreaterThan(500);
    for (const name of ["twice", "main", "malloc"]) {
      const vaddr = Number.parseInt(functions[functions.indexOf(name) - 1] ?? "", 16);
      expect([name, starts?.at(vaddr)?.start]).toEqual([name, vaddr]);
      expect([name, starts?.at(vaddr + 1)?.start]).toEqual([name, vaddr]);
    }
  });
});

describe("the C library of this machine", () => {
  const libc = open(LIBC);

  test("has the dynamic symbols that nm lists, each at the same address", () => {
    const ours = libc.dynamicSymbols();
    const theirs = namesByNm(LIBC);
    expect(theirs.size).toBeGreaterThan(1000);
    const wrong = [...theirs].filter(([name, vaddr]) => ours.has(name) && ours.get(name)?.vaddr !== vaddr);
    expect(wrong).toEqual([]);
    const missing = [...theirs.keys()].filter((name) => !ours.has(name));
    expect(missing.filter((name) => libc.dynamicSymbol(name) !== undefined)).toEqual([]);
    // Thread-local data has no address of its own and is left out.
    expect(missing.length).toBeLessThan(10);
  });
  test("answers one name through its hash table as the whole table does", () => {
    for (const [name, symbol] of open(LIBC).dynamicSymbols()) expect(libc.dynamicSymbol(name)).toEqual(symbol);
  });
  test("knows no prefix or extension of a name", () => {
    for (const name of ["mallo", "malloc_", "", "malloc@@GLIBC_2.2.5"]) {
      expect(libc.dynamicSymbol(name)).toBeUndefined();
      expect(libc.dynamicSymbols().get(name)).toBeUndefined();
    }
  });
  test("turns addresses into file offsets and back as its program headers say", () => {
    for (const name of ["malloc", "qsort", "environ"]) {
      const symbol = libc.dynamicSymbol(name);
      if (!symbol) throw new Error(`no ${name}`);
      expect(symbol.fileOffset).toBe(libc.fileOffset(symbol.vaddr));
      if (symbol.fileOffset !== null) expect(libc.vaddr(symbol.fileOffset)).toBe(symbol.vaddr);
    }
  });
  test("has the build id and soname that readelf prints", () => {
    expect(libc.buildId()).toBe(/Build ID: ([0-9a-f]+)/.exec(run("readelf", "-n", LIBC))?.[1] ?? "");
    expect(libc.soname()).toBe("libc.so.6");
  });
  test("has every function that readelf finds in its unwind table, start and end", () => {
    const starts = libc.functionStarts();
    if (!starts) throw new Error("no function starts");
    // Its exit status only says that the separate file with debug symbols is not installed.
    const { stdout } = Bun.spawnSync(["readelf", "--debug-dump=frames", LIBC]);
    const frames = [...stdout.toString().matchAll(/ FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)/g)];
    expect(frames.length).toBeGreaterThan(1000);
    expect(starts.count).toBe(frames.length);
    for (const [, low, high] of frames) {
      const start = Number.parseInt(low ?? "", 16);
      const end = Number.parseInt(high ?? "", 16);
      expect(starts.at(start)).toEqual({ start, end });
      expect(starts.at(end - 1)).toEqual({ start, end });
    }
  });
});

describe("a library compiled here", () => {
  const dir = mkdtempSync(join(tmpdir(), "elf-"));
  const path = join(dir, "libsmall.so");
  writeFileSync(
    join(dir, "small.c"),
    `int counter; int given = 7; static int hidden(int x) { return x * given; }
     int answer(int x) { return hidden(x) + counter; } extern int elsewhere(int); int asks(int x) { return elsewhere(x); }`,
  );
  run("cc", "-O1", "-shared", "-fPIC", "-Wl,-soname,libsmall.so.3", "-o", path, join(dir, "small.c"));

  test("defines its own symbols only", () => {
    const symbols = open(path).dynamicSymbols();
    expect(symbols.get("answer")?.type).toBe("function");
    expect(symbols.get("given")?.type).toBe("object");
    expect(symbols.get("counter")?.fileOffset).toBeNull();
    expect(symbols.has("elsewhere")).toBe(false);
    expect(symbols.has("hidden")).toBe(false);
    expect(open(path).soname()).toBe("libsmall.so.3");
  });
  test("answers the same after strip", () => {
    const before = [...open(path).dynamicSymbols()];
    run("strip", "-s", path);
    expect([...open(path).dynamicSymbols()]).toEqual(before);
  });
});

describe("files that are something else", () => {
  test.each([
    ["nothing", new Uint8Array(0), "no ELF magic"],
    ["text", new TextEncoder().encode("#!/bin/sh\n"), "no ELF magic"],
    ["a 32-bit file", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 1, 1, 1]), "not a 64-bit file"],
    ["a big-endian file", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 2, 2, 1]), "not little-endian"],
    ["a header cut short", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0]), "file header cut short"],
  ])("%s gives a reason", (_, bytes, reason) => {
    expect(readElf(bytes)).toEqual({ ok: false, reason });
  });
});
