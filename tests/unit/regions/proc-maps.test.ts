import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { createProcessMaps } from "../../../src/regions/mapping-events.ts";
import { parseProcMaps, snapshotEvents } from "../../../src/regions/proc-maps.ts";
import { diffAgainstProc, flattenProcMaps } from "../../fixtures/flat-maps.ts";

const TEXT = [
  "555500000000-555500002000 r-xp 00001000 fe:01 42                         /tmp/a b\\012c (deleted)",
  "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ",
  "7f0000001000-7f0000003000 rw-p 00000000 00:00 0                          [heap]",
  "",
].join("\n");
const look = { pid: 100, exec_epoch: 0, begin_ns: 5n, end_ns: 6n };

function mapsOf(text: string) {
  const maps = createProcessMaps();
  for (const row of snapshotEvents(text, look).rows) maps.apply(row);
  return maps.mapsOf(100);
}

describe("/proc/PID/maps", () => {
  test("is read with spaces, newlines and deletion in paths", () => {
    const { mappings, bad_lines } = parseProcMaps(TEXT);
    expect(bad_lines).toBe(0);
    expect(mappings[0]).toEqual({
      addr: 0x555500000000n,
      size_bytes: 0x2000n,
      prot: 5,
      shared: false,
      file_offset_bytes: 0x1000n,
      dev: (0xfe << 20) | 1,
      inode: 42n,
      path: "/tmp/a b\nc (deleted)",
    });
    expect(mappings.map((m) => m.path)).toEqual(["/tmp/a b\nc (deleted)", null, "[heap]"]);
  });

  test("counts lines that are none, that are too long, or that go back", () => {
    const long = `7f0000004000-7f0000005000 r--p 00000000 fe:01 1 /${"x".repeat(9000)}`;
    expect(parseProcMaps(`${TEXT}nonsense\n${long}\n1000-2000 rw-p 00000000 00:00 0\n`).bad_lines).toBe(3);
  });

  test("keeps what a mapping that grew over its neighbour while it was read has beyond it", () => {
    const { mappings, bad_lines } = parseProcMaps(
      [
        "7f0000005000-7f0000008000 rw-p 00000000 00:00 0 ",
        "7f0000004000-7f000000c000 rw-p 00000000 00:00 0 ",
        "7f000000a000-7f000000e000 r--p 00003000 fe:01 42 /lib/x.so",
        "7f000000b000-7f000000d000 r--p 00000000 00:00 0 ",
      ].join("\n"),
    );
    expect(mappings.map((m) => [m.addr, m.size_bytes, m.file_offset_bytes])).toEqual([
      [0x7f0000005000n, 0x3000n, 0n],
      [0x7f0000008000n, 0x4000n, 0n],
      [0x7f000000c000n, 0x2000n, 0x5000n],
    ]);
    expect(bad_lines).toBe(1);
  });

  test("never throws, whatever the text", () => {
    const chunk = fc.oneof(fc.string(), fc.constant("1000-2000 rw-p 00000000 00:00 0 \n"), fc.constant("\n"));
    fc.assert(
      fc.property(fc.array(chunk), (chunks) => {
        const text = chunks.join("");
        const { mappings, bad_lines } = parseProcMaps(text);
        const lines = text.split("\n");
        if (lines.at(-1) === "") lines.pop();
        expect(mappings.length + bad_lines).toBe(lines.length);
      }),
    );
  });

  test("of this process equals the map made of it", () => {
    const text = readFileSync("/proc/self/maps", "utf8");
    expect(flattenProcMaps(text).length).toBeGreaterThan(10);
    expect(diffAgainstProc(mapsOf(text), text)).toEqual([]);
  });

  test("shows in words where a map differs", () => {
    const other = TEXT.replace("r-xp", "r--p").replace("7f0000001000 rw-p", "7f0000001000 r--p");
    expect(diffAgainstProc(mapsOf(TEXT), other)).toEqual([
      "555500000000-555500002000 8.00 KiB: rebuilt r-xp inode 42 offset 0x1000, kernel r--p inode 42 offset 0x1000",
      "7f0000000000-7f0000001000 4.00 KiB: rebuilt rw-p, kernel r--p",
    ]);
  });
});
