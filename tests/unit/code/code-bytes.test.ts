import { afterAll, expect, test } from "bun:test";
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCodeMap } from "../../../src/code/code-bytes.ts";
import { libc } from "../../../src/kernel/libc.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "mrm-code-bytes-")));
afterAll(() => rmSync(folder, { recursive: true }));

const [READ_EXECUTE, PRIVATE, PAGE] = [5, 2, 4096];

/** Maps the first page of a file as code of this process; returns its address. */
function mapCode(path: string): number {
  const fd = openSync(path, "r");
  const address = Number(libc.mmap(0, PAGE, READ_EXECUTE, PRIVATE, fd, 0));
  closeSync(fd);
  if (address < 0) throw new Error(`${path} was not mapped`);
  return address;
}

/** Files below the folder that this process has open. */
function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path.slice(folder.length + 1)] : [];
    } catch {
      return []; // That by which the folder was listed.
    }
  });
}

test("of the files that a process maps as code those stay open that are code", () => {
  const library = join(folder, "library.so");
  copyFileSync("/lib/x86_64-linux-gnu/libc.so.6", library);
  const data = Array.from({ length: 20 }, (_, i) => join(folder, `${i}.txt`));
  for (const path of data) writeFileSync(path, "no code ".repeat(1000));
  const at = mapCode(library);
  for (const path of data) mapCode(path);
  {
    using code = createCodeMap(() => 0);
    code.learn(process.pid);
    const isOursToSee = code.locate(process.pid, at) !== null;
    // Without the right to open what a process maps none of it is known.
    expect(openFiles()).toEqual(isOursToSee ? ["library.so"] : []);
  }
  expect(openFiles()).toEqual([]);
});
