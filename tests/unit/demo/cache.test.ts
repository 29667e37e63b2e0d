import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoCacheDir, makeCacheDir } from "../../../src/demo/cache.ts";
import { giveTo, invokingUser } from "../../../src/target/invoking-user.ts";

const isRoot = process.getuid?.() === 0;
const SUDO = { SUDO_UID: "65534", SUDO_GID: "65534", HOME: "/root" };

describe("the demo's cache folder", () => {
  test("is named by the environment, else below the home", () => {
    expect(demoCacheDir({ MRM_TRACE_CACHE: "/a", XDG_CACHE_HOME: "/b", HOME: "/c" })).toBe("/a");
    expect(demoCacheDir({ XDG_CACHE_HOME: "/b", HOME: "/c" })).toBe("/b/mrm-trace");
    expect(demoCacheDir({ HOME: "/c" })).toBe("/c/.cache/mrm-trace");
    expect(() => demoCacheDir({})).toThrow(expect.objectContaining({ code: "environment" }));
  });

  test.skipIf(!isRoot)("is the invoking user's under sudo (needs root)", () => {
    const user = invokingUser(SUDO);
    expect(user).toMatchObject({ uid: 65534, gid: 65534 });
    expect(demoCacheDir(SUDO)).toBe(join(user?.home ?? "", ".cache", "mrm-trace"));
    expect(invokingUser({ SUDO_UID: "0", SUDO_GID: "0" })).toBeNull();
    expect(invokingUser({ SUDO_UID: "x", SUDO_GID: "1" })).toBeNull();
    expect(invokingUser({})).toBeNull();
  });

  test.skipIf(!isRoot)("is given to that user with all that is in it, links unfollowed (needs root)", () => {
    const root = mkdtempSync(join(tmpdir(), "mrm-cache-"));
    try {
      const user = invokingUser(SUDO);
      makeCacheDir(join(root, "a", "b"), user);
      expect([statSync(root).uid, statSync(join(root, "a")).uid, statSync(join(root, "a/b")).uid]).toEqual([
        0, 65534, 65534,
      ]);
      mkdirSync(join(root, "tree"));
      writeFileSync(join(root, "outside"), "");
      symlinkSync(join(root, "outside"), join(root, "tree", "link"));
      writeFileSync(join(root, "tree", "file"), "");
      giveTo(user, join(root, "tree"));
      expect(statSync(join(root, "tree/file")).uid).toBe(65534);
      expect(statSync(join(root, "outside")).uid).toBe(0);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  test("that cannot be made is an error that says what to set", () => {
    expect(() => makeCacheDir("/dev/null/cache", null)).toThrow(
      expect.objectContaining({ code: "environment", hint: expect.stringContaining("MRM_TRACE_CACHE") }),
    );
  });
});
