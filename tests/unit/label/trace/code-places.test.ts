import { afterAll, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readElf } from "../../../../src/elf/elf.ts";
import { openFileBytes } from "../../../../src/elf/file-bytes.ts";
import type { MappingFacts } from "../../../../src/label/capture/mapping-stays.ts";
import { placeList } from "../../../../src/label/regions/places.ts";
import { type CodeName, codeNamer } from "../../../../src/label/trace/code-places.ts";

const LIBRARY = "/lib/x86_64-linux-gnu/libc.so.6";
const BEGIN = 0x7000_0000_0000;
const folder = mkdtempSync(join(tmpdir(), "mrm-code-places-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The name of an instruction so far into a file that is mapped as a whole. */
function nameIn(path: string, inode: bigint, offset: number): CodeName {
  const list = placeList();
  list.add(7, BEGIN, BEGIN + 2 ** 24, 0, 1e9, 0, 0);
  const facts: MappingFacts = {
    exec_epoch: 0,
    mapping_kind: "file",
    path,
    inode,
    is_read_only: true,
    is_unwritable: true,
    is_code: true,
    is_shared: false,
    is_gguf: false,
  };
  const nameOf = codeNamer({ places: list.places, offsets: [0] }, [facts]);
  return nameOf({ pid: 7, ip: BigInt(BEGIN + offset), first_ns: 5 });
}

function offsetOf(path: string, name: string): number {
  using bytes = openFileBytes(path);
  const elf = bytes === null ? null : readElf(bytes);
  const offset = elf?.ok ? elf.dynamicSymbol(name)?.fileOffset : null;
  if (offset == null) throw new Error(`${path} has no ${name}`);
  return offset;
}

test("an instruction has the name of its function in the file that was mapped, and in no other of that name", () => {
  const path = join(folder, "library.so");
  copyFileSync(LIBRARY, path);
  const { ino } = statSync(path, { bigint: true });
  const offset = offsetOf(path, "qsort") + 1;
  expect(nameIn(path, ino, offset)).toEqual({ dso: path, symbol: "qsort" });
  expect(nameIn(path, ino + 1n, offset)).toEqual({ dso: path, symbol: "" });
});

test("a pipe in the place of a library, and a folder, name nothing and are not waited for", () => {
  const pipe = join(folder, "pipe.so");
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  for (const path of [pipe, folder, join(folder, "absent.so")]) {
    expect(nameIn(path, 0n, 4096)).toEqual({ dso: path, symbol: "" });
  }
});
