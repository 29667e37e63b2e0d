import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileExtent } from "../../../../../src/collect/ebpf/engine/file-extents.ts";
import { weightDirectories } from "../../../../../src/collect/ebpf/engine/weight-directories.ts";
import { safetensorsBytes } from "../../../../fixtures/safetensors.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-directories-"));
afterAll(() => rmSync(folder, { recursive: true }));

function extentOf(path: string): FileExtent {
  const { ino, dev } = statSync(path);
  return {
    pid: process.pid,
    mapping_id: 1,
    addr: 4096n,
    size_bytes: 4096n,
    file_offset_bytes: 0n,
    dev: ((dev >> 8) << 20) | (dev & 0xff),
    inode: BigInt(ino),
    path,
    since_ns: 1n,
    birth_censored: false,
  };
}

const MOST_OF_A_FILE = 2 ** 15;
const MOST_OF_A_RUN = 2 ** 18;

test("directories hold as many names of tensors as a run may have, and read no more of them", () => {
  const names = Array.from({ length: MOST_OF_A_FILE }, (_, i) => [
    `t${i}`,
    { dtype: "U8", shape: [0], data_offsets: [0, 0] },
  ]);
  const bytes = safetensorsBytes(Object.fromEntries(names), 0);
  const directories = weightDirectories();
  const found = Array.from({ length: MOST_OF_A_RUN / MOST_OF_A_FILE + 1 }, (_, i) => {
    const path = join(folder, `${i}.safetensors`);
    writeFileSync(path, bytes);
    return directories.tensorsOf(extentOf(path)).length;
  });
  expect(found.reduce((sum, n) => sum + n, 0)).toBe(MOST_OF_A_RUN);
  expect(found.at(-1)).toBe(0);
  expect([...directories.refused.values()]).toEqual([`${MOST_OF_A_RUN} names of others were read before`]);
}, 30_000);

test("files that name no tensor are told one by one, as many as anybody reads, and the others counted", () => {
  const directories = weightDirectories();
  for (let i = 0; i < 70; i++) {
    const path = join(folder, `bad${i}.safetensors`);
    writeFileSync(path, "none");
    for (let again = 0; again < 2; again++) expect(directories.tensorsOf(extentOf(path))).toEqual([]);
  }
  expect([directories.refused.size, directories.refusedMore]).toEqual([64, 12]);
});
