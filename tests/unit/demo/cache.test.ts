import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { demoCacheDir, makeCacheDir } from "../../../src/demo/cache.ts";
import { invokingUser } from "../../../src/target/invoking-user.ts";

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

  test("that cannot be made is an error that says what to set", () => {
    expect(() => makeCacheDir("/dev/null/cache")).toThrow(
      expect.objectContaining({ code: "environment", hint: expect.stringContaining("MRM_TRACE_CACHE") }),
    );
  });
});
