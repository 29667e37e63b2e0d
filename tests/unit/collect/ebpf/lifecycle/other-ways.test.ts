import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waysOpen } from "../../../../../src/collect/ebpf/lifecycle/other-ways.ts";

test("what a process had open before anybody looked tells of files without a page cache and of rings with buffers", () => {
  const proc = mkdtempSync(join(tmpdir(), "mrm-ways-"));
  try {
    const folder = join(proc, "7");
    for (const name of ["fd", "fdinfo"]) mkdirSync(join(folder, name), { recursive: true });
    const direct = process.arch === "arm64" ? "02600002" : "02440002";
    const open = [
      ["/models/m.gguf", "flags:\t0100000\n"],
      ["/cache/kv.bin", `pos:\t0\nflags:\t${direct}\nmnt_id:\t29\n`],
      ["socket:[12]", `flags:\t${direct}\n`],
      ["anon_inode:[io_uring]", "flags:\t02000002\nUserFiles:\t4\nUserBufs:\t2\n"],
      ["anon_inode:[io_uring]", "flags:\t02000002\nUserFiles:\t4\nUserBufs:\t0\n"],
    ] as const;
    for (const [number, [path, text]] of open.entries()) {
      symlinkSync(path, join(folder, "fd", `${number}`));
      writeFileSync(join(folder, "fdinfo", `${number}`), text);
    }
    // Closed between the two looks.
    symlinkSync("/gone", join(folder, "fd", "9"));
    expect(waysOpen(7, proc)).toEqual({ direct_opens: 1, buffer_registrations: 1 });
    expect(waysOpen(8, proc)).toEqual({ direct_opens: 0, buffer_registrations: 0 });
  } finally {
    rmSync(proc, { recursive: true });
  }
});
