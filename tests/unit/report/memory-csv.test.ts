import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLineFile } from "../../../src/report/line-file.ts";
import { localTime, MEMORY_CSV_HEADER, memoryCsvRow } from "../../../src/report/memory-csv.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("the CSV of memory", () => {
  test("begins with the columns of other monitors and has one field for each of ours", () => {
    expect(MEMORY_CSV_HEADER.startsWith("timestamp,label,pid,rss_mb,vms_mb,")).toBe(true);
    const row = memoryCsvRow({
      time: new Date("2026-01-02T03:04:05.678Z"),
      label: 'a "b", c',
      pid: 7,
      rss_bytes: 3 * 2 ** 19,
      vms_bytes: 2 ** 30,
      rss_anon_bytes: 2 ** 20,
      rss_file_bytes: 2 ** 19,
      rss_shmem_bytes: 0,
      pss_bytes: null,
      children: 2,
      timestamp_ns: 12n,
    });
    expect(row.endsWith(',"a ""b"", c",7,1.500,1024.000,1.000,0.500,0.000,,2,12')).toBe(true);
  });

  test("says local time with its offset, which names the same moment", () => {
    const time = new Date("2026-01-02T03:04:05.678Z");
    expect(localTime(time)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);
    expect(new Date(localTime(time)).getTime()).toBe(time.getTime());
  });
});

describe("a file of lines", () => {
  test("is for its owner alone and holds every line as soon as it is written", () => {
    const path = join(folder, "a.csv");
    using file = createLineFile(path, false);
    file.write("one");
    file.write("two");
    expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("replaces another file only when told to, and never what a link names", () => {
    const path = join(folder, "b.csv");
    const link = join(folder, "link.csv");
    writeFileSync(path, "theirs");
    symlinkSync(path, link);
    expect(() => createLineFile(path, false)).toThrow("is there already");
    expect(() => createLineFile(link, false)).toThrow("is there already");
    createLineFile(link, true)[Symbol.dispose]();
    expect(readFileSync(path, "utf8")).toBe("theirs");
  });

  test("never takes the place of a device, a pipe or a folder", () => {
    const pipe = join(folder, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    for (const path of [pipe, folder]) expect(() => createLineFile(path, true)).toThrow("is no regular file");
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  test("that cannot be made says why", () => {
    expect(() => createLineFile(join(folder, "absent", "c.csv"), false)).toThrow("cannot be written");
  });
});
