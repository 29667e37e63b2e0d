import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userResults } from "../../../src/record/user-results.ts";

const isRoot = process.getuid?.() === 0;
const NOBODY = 65534;
const root = mkdtempSync(join(tmpdir(), "mrm-user-results-"));
const before = { SUDO_UID: process.env.SUDO_UID, SUDO_GID: process.env.SUDO_GID };

function behindSudo(): void {
  Object.assign(process.env, { SUDO_UID: String(NOBODY), SUDO_GID: String(NOBODY) });
}
afterEach(() => {
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root);
});

const ownerOf = (...path: string[]): number => statSync(join(root, ...path)).uid;

describe.skipIf(!isRoot)("results that root wrote for a user (needs root)", () => {
  test("are theirs, with the folders that were made for them, and nothing else is", () => {
    behindSudo();
    mkdirSync(join(root, "there"));
    {
      using results = userResults(join(root, "there", "new", "model"), expect.unreachable);
      mkdirSync(join(root, "there", "new", "model", "run", "capture"), { recursive: true });
      writeFileSync(join(root, "there", "new", "other"), "");
      writeFileSync(join(root, "outside"), "");
      symlinkSync(join(root, "outside"), join(root, "there", "new", "model", "run", "link"));
      results.add(join(root, "there", "new", "model", "run"));
      expect(ownerOf("there", "new", "model", "run")).toBe(0);
    }
    for (const path of ["new", "new/model", "new/model/run", "new/model/run/capture"]) {
      expect(ownerOf("there", path)).toBe(NOBODY);
    }
    for (const path of ["there", "there/new/other", "outside"]) expect(ownerOf(path)).toBe(0);
  });

  test("stay root's where nobody called sudo", () => {
    delete process.env.SUDO_UID;
    {
      using results = userResults(join(root, "new"), expect.unreachable);
      mkdirSync(join(root, "new"));
      results.add(join(root, "new"));
    }
    expect(ownerOf("new")).toBe(0);
  });

  test("that cannot be given are told, with the command that does it, and the others stay as they are", () => {
    behindSudo();
    const told: string[] = [];
    {
      using results = userResults(join(root, "new"), (line) => told.push(line));
      mkdirSync(join(root, "new"));
      results.add(join(root, "new", "gone"));
    }
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(`results in ${join(root, "new")} stay root's: ENOENT`);
    expect(told[0]).toContain(`sudo chown -R ${NOBODY}:${NOBODY} ${join(root, "new")}`);
    expect(ownerOf("new")).toBe(0);
  });
});
