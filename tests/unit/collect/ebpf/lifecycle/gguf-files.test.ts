import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ggufFiles } from "../../../../../src/collect/ebpf/lifecycle/gguf-files.ts";
import { createProcessMaps } from "../../../../../src/regions/mapping-events.ts";
import type { MappingEvent } from "../../../../../src/regions/mapping-row.ts";
import { mappingRow, page } from "../../../../fixtures/mapping-rows.ts";

const PAGES = 1024;
const folder = mkdtempSync(join(tmpdir(), "mrm-ggufs-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A file that begins with these bytes, as a mapping of our own process tells of it, which maps it no more. */
function mappedFile(name: string, begin: string, bytes = PAGES * 4096) {
  const path = join(folder, name);
  writeFileSync(path, Buffer.concat([Buffer.from(begin), Buffer.alloc(bytes)]).subarray(0, bytes));
  const { ino, dev } = statSync(path);
  return { pid: process.pid, path, inode: BigInt(ino), dev: ((dev >> 8) << 20) | (dev & 0xff) };
}
type File = ReturnType<typeof mappedFile>;

const row = (kind: MappingEvent["kind"], file: File, fields: Partial<MappingEvent> = {}): MappingEvent =>
  mappingRow(kind, 5, {
    addr: page(10),
    size_bytes: page(PAGES),
    prot: 1,
    flags: 1,
    file_offset_bytes: 0n,
    ...file,
    ...fields,
  });

/** What is told after each of these polls. */
function polled(...polls: readonly (readonly MappingEvent[])[]) {
  const maps = createProcessMaps();
  const files = ggufFiles(maps);
  return polls.map((rows) => {
    for (const one of rows) maps.apply(one);
    return files.take(rows).map(({ kind, pid, path, inode, dev }) => ({ kind, pid, path, inode, dev }));
  });
}

describe("a mapped file that begins as a GGUF does", () => {
  test("is told once, by a look at the maps or by its name, whatever it is called", () => {
    const file = mappedFile("sha256-abc", "GGUF");
    const told = { kind: "gguf" as const, ...file };
    expect(polled([row("snapshot", file)], [row("snapshot", file)])).toEqual([[told], []]);
    expect(polled([row("file", file), row("file", file)])).toEqual([[told]]);
  });

  test("is not told where its path says so already, and where it is too small to hold a model", () => {
    for (const name of ["m.gguf", "m.safetensors"])
      expect(polled([row("file", mappedFile(name, "GGUF"))])).toEqual([[]]);
    expect(polled([row("file", mappedFile("small", "GGUF"), { size_bytes: page(16) })])).toEqual([[]]);
  });

  test("is not one that has other bytes, none, or another inode by now", () => {
    const files = [mappedFile("zeros", ""), mappedFile("cut", "GGU", 3), mappedFile("late", " GGUF")];
    const replaced = { ...mappedFile("other", "GGUF"), inode: 1n };
    expect(polled([...files, replaced].map((file) => row("file", file)))).toEqual([[]]);
  });

  test("is looked for by no name that leads to a pipe, a folder, or nowhere", () => {
    const path = join(folder, "pipe");
    Bun.spawnSync(["mkfifo", path]);
    const at = (name: string): File => ({ ...mappedFile("place", ""), path: name, inode: BigInt(statSync(path).ino) });
    expect(polled([path, folder, join(folder, "none")].map((name) => row("file", at(name))))).toEqual([[]]);
  });

  test("is waited for through three polls, as a name may come before its mapping", () => {
    const file = mappedFile("soon", "GGUF");
    const path = join(folder, "hidden");
    const [before, , after] = polled([row("file", { ...file, path })], [], [row("snapshot", file)]);
    expect([before, after?.length]).toEqual([[], 1]);
  });
});
