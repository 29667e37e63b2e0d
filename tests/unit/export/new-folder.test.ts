import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openNewFolder } from "../../../src/export/new-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-new-folder-"));
afterAll(() => rmSync(folder, { recursive: true }));
const place = (name: string): string => join(folder, name);

function write(path: string, names: readonly string[], force = false): number {
  using made = openNewFolder(path, force);
  for (const name of names) {
    using file = made.open(name);
    file.write(new TextEncoder().encode(name));
    file.finish();
  }
  made.finish();
  return made.size_bytes;
}

describe("a new folder", () => {
  test("has its name when it is whole; only its user may look into it", () => {
    expect(write(place("whole"), ["a", "data/b"])).toBe("a".length + "data/b".length);
    expect([statSync(place("whole")).mode & 0o777, statSync(place("whole/data")).mode & 0o777]).toEqual([0o700, 0o700]);
    expect(readFileSync(place("whole/data/b"), "utf8")).toBe("data/b");
  });

  test("leaves nothing where it comes to nothing", () => {
    {
      using made = openNewFolder(place("half"), false);
      using file = made.open("a/b");
      file.write(new Uint8Array(3));
    }
    expect(readdirSync(folder).filter((name) => name.includes("half"))).toEqual([]);
  });

  test("replaces an earlier export alone, and only when asked", () => {
    write(place("export"), ["SHA256SUMS", "old"]);
    expect(() => openNewFolder(place("export"), false)).toThrow("exists already");
    write(place("export"), ["SHA256SUMS", "new"], true);
    expect(readdirSync(place("export")).sort()).toEqual(["SHA256SUMS", "new"]);
    mkdirSync(place("theirs"));
    writeFileSync(place("theirs/letter"), "dear");
    expect(() => openNewFolder(place("theirs"), true)).toThrow("is no exported folder");
    expect(() => openNewFolder(place("theirs/letter"), true)).toThrow("is no exported folder");
    expect(existsSync(place("theirs/letter"))).toBe(true);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });
});
