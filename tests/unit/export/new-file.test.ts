import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openNewFile, outputError } from "../../../src/export/new-file.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-new-file-"));
afterAll(() => rmSync(folder, { recursive: true }));
const place = (name: string): string => join(folder, name);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function write(path: string, text: string, force = false): void {
  using file = openNewFile(path, force);
  file.write(bytes(text));
  file.finish();
}

describe("a new file", () => {
  test("has its name when it is whole, and not before; only its user may read it", () => {
    {
      using file = openNewFile(place("whole"), false);
      file.write(bytes("one"));
      expect(readdirSync(folder)).not.toContain("whole");
      file.write(new Uint8Array(1 << 20).fill(65));
      file.finish();
      expect(file.size_bytes).toBe(3 + (1 << 20));
    }
    expect([statSync(place("whole")).size, statSync(place("whole")).mode & 0o777]).toEqual([3 + (1 << 20), 0o600]);
  });

  test("leaves nothing where it comes to nothing", () => {
    {
      using file = openNewFile(place("half"), false);
      file.write(bytes("half"));
    }
    expect(readdirSync(folder).filter((name) => name.includes("half"))).toEqual([]);
  });

  test("takes no place of another, also of one that came meanwhile", () => {
    writeFileSync(place("theirs"), "theirs");
    expect(() => openNewFile(place("theirs"), false)).toThrow("exists already");
    using file = openNewFile(place("late"), false);
    writeFileSync(place("late"), "theirs");
    expect(() => file.finish()).toThrow("exists already");
    expect(readFileSync(place("late"), "utf8")).toBe("theirs");
    write(place("theirs"), "ours", true);
    expect(readFileSync(place("theirs"), "utf8")).toBe("ours");
  });

  test("replaces a link, never what it leads to, and no folder or device", () => {
    writeFileSync(place("aim"), "kept");
    symlinkSync(place("aim"), place("link"));
    expect(() => openNewFile(place("link"), false)).toThrow("exists already");
    write(place("link"), "ours", true);
    expect([readFileSync(place("aim"), "utf8"), readFileSync(place("link"), "utf8")]).toEqual(["kept", "ours"]);
    expect(() => openNewFile(folder, true)).toThrow("is no regular file");
    expect(() => openNewFile("/dev/full", true)).toThrow("is no regular file");
  });

  test("says what to do where nothing can be written", () => {
    const refused = (path: string): unknown => {
      try {
        openNewFile(path, false);
        return null;
      } catch (error) {
        return error;
      }
    };
    expect(refused(place("nowhere/file"))).toMatchObject({
      code: "environment",
      message: expect.stringContaining("no such file or directory"),
      hint: expect.stringContaining("--out"),
    });
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    expect(outputError("/data/run.csv", full)).toMatchObject({
      code: "environment",
      message: "/data/run.csv cannot be written: no space left on device",
      hint: expect.stringContaining("free space on that disk"),
    });
  });
});
