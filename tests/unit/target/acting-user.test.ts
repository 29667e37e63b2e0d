import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asUser } from "../../../src/target/acting-user.ts";
import { invokingUser } from "../../../src/target/invoking-user.ts";
import { isRootsAlone, makerOf, rootsGift } from "../../../src/target/results-maker.ts";

const isRoot = process.getuid?.() === 0;
const NOBODY = 65534;

describe.skipIf(!isRoot)("acting as the user behind sudo (needs root)", () => {
  const user = invokingUser({ SUDO_UID: String(NOBODY), SUDO_GID: String(NOBODY) });
  const folder = mkdtempSync(join(tmpdir(), "mrm-acting-"));
  beforeAll(() => {
    chmodSync(folder, 0o777);
    writeFileSync(join(folder, "secret"), "secret", { mode: 0o600 });
    symlinkSync(join(folder, "secret"), join(folder, "link"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("files are made as theirs, and what only root may is refused", () => {
    asUser(user, () => {
      mkdirSync(join(folder, "made"));
      writeFileSync(join(folder, "made", "file"), "");
      for (const name of ["secret", "link"]) expect(() => readFileSync(join(folder, name))).toThrow("EACCES");
      expect(() => chmodSync(join(folder, "secret"), 0o666)).toThrow("EPERM");
    });
    expect([statSync(join(folder, "made")).uid, statSync(join(folder, "made", "file")).gid]).toEqual([NOBODY, NOBODY]);
  });

  test("the end of what is done inside does not make root of what is done around it", () => {
    asUser(user, () => {
      asUser(user, () => writeFileSync(join(folder, "inner"), ""));
      expect(() => readFileSync(join(folder, "secret"))).toThrow("EACCES");
      writeFileSync(join(folder, "outer"), "");
      const other = invokingUser({ SUDO_UID: "1", SUDO_GID: "1" });
      expect(other).not.toBeNull();
      expect(() => asUser(other, expect.unreachable)).toThrow("cannot be changed");
    });
    expect(["inner", "outer"].map((name) => statSync(join(folder, name)).uid)).toEqual([NOBODY, NOBODY]);
    expect(readFileSync(join(folder, "secret"), "utf8")).toBe("secret");
  });

  test("root is itself again afterwards, also after a failure", () => {
    expect(() =>
      asUser(user, () => {
        throw new Error("failed");
      }),
    ).toThrow("failed");
    expect(readFileSync(join(folder, "link"), "utf8")).toBe("secret");
    writeFileSync(join(folder, "root"), "");
    expect([statSync(join(folder, "root")).uid, statSync(join(folder, "root")).gid]).toEqual([0, 0]);
    const groups = /^Groups:\s*(.*)$/m.exec(readFileSync("/proc/thread-self/status", "utf8"))?.[1];
    expect(groups?.split(/\s+/)).not.toContain(String(NOBODY));
  });

  test("a path that others can rename or link on the way is not root's alone", () => {
    const own = mkdtempSync(join(tmpdir(), "mrm-alone-"));
    try {
      // In the sticky folder of temporary files root's own folder stays in its place; a name that is free there does not.
      expect(isRootsAlone(join(own, "new", "newer"))).toBe(true);
      expect(isRootsAlone(join(tmpdir(), "mrm-not-there"))).toBe(false);
      expect(isRootsAlone(join(folder, "new"))).toBe(false);
      expect(isRootsAlone(join(folder, "made"))).toBe(false);
      symlinkSync("/etc", join(own, "link"));
      expect(isRootsAlone(join(own, "link"))).toBe(false);
      expect(isRootsAlone("/root/results")).toBe(true);
    } finally {
      rmSync(own, { recursive: true });
    }
  });

  test("what root makes where only root can is given, and nothing else is", () => {
    const own = mkdtempSync(join(tmpdir(), "mrm-gift-"));
    const sudo = { SUDO_UID: process.env.SUDO_UID, SUDO_GID: process.env.SUDO_GID };
    try {
      Object.assign(process.env, { SUDO_UID: String(NOBODY), SUDO_GID: String(NOBODY) });
      expect(makerOf(own).uid).toBe(0);
      expect(makerOf(folder).uid).toBe(NOBODY);
      {
        using gift = rootsGift(join(own, "a", "b"), expect.unreachable);
        mkdirSync(join(own, "a", "b"), { recursive: true });
        for (const name of ["given", "kept"]) writeFileSync(join(own, "a", "b", name), "");
        gift.add(join(own, "a", "b", "given"));
      }
      const owners = ["", "a", "a/b", "a/b/given", "a/b/kept"].map((name) => statSync(join(own, name)).uid);
      expect(owners).toEqual([0, NOBODY, NOBODY, NOBODY, 0]);
      {
        using gift = rootsGift(join(own, "a", "b", "c"), expect.unreachable);
        mkdirSync(join(own, "a", "b", "c"));
        gift.add(join(own, "a", "b", "kept"));
      }
      expect([statSync(join(own, "a/b/c")).uid, statSync(join(own, "a/b/kept")).uid]).toEqual([0, 0]);
    } finally {
      for (const [name, value] of Object.entries(sudo)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      rmSync(own, { recursive: true });
    }
  });
});
