import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openNewFolder } from "../../../src/export/new-folder.ts";
import { createLineFile } from "../../../src/report/line-file.ts";
import { writeFileAtomic } from "../../../src/run-directory/atomic-file.ts";
import { createRun } from "../../../src/run-directory/create-run.ts";
import { lockFolder } from "../../../src/run-directory/folder-lock.ts";
import { requirePlace, requireReplaceable } from "../../../src/run-directory/replaceable.ts";
import { unwritable } from "../../../src/run-directory/unwritable.ts";
import { asUser } from "../../../src/target/acting-user.ts";
import { invokingUser } from "../../../src/target/invoking-user.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-unwritable-"));
afterAll(() => rmSync(root, { recursive: true }));

function refusal(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was refused");
}

describe("a file that cannot be written", () => {
  test("is told with the reason in words and what helps against that, by the option that names it", () => {
    const failed = (code: string, words: string) =>
      Object.assign(new Error(`${code}: ${words}, open '/data/x.123.partial'`), { code });
    expect(unwritable("/data/x", failed("ENOSPC", "no space left on device"), "--out")).toMatchObject({
      code: "environment",
      message: "/data/x cannot be written: no space left on device",
      hint: "free space on that disk, or name a place on another with --out",
    });
    expect(unwritable("/data/x", failed("EACCES", "permission denied"), "--output")).toMatchObject({
      message: "/data/x cannot be written: permission denied",
      hint: "name a place in a folder that exists and that you may write to with --output",
    });
  });

  test("is told in the same way by all that write one", () => {
    const nowhere = join(root, "nowhere/file");
    for (const [act, option] of [
      [() => writeFileAtomic(nowhere, "", "--out"), "--out"],
      [() => writeFileAtomic(nowhere, ""), "--output"],
      [() => createLineFile(nowhere, false), "--output"],
    ] as const) {
      expect(refusal(act)).toMatchObject({
        message: `${nowhere} cannot be written: no such file or directory`,
        hint: `name a place in a folder that exists and that you may write to with ${option}`,
      });
    }
    expect(refusal(() => lockFolder("/proc/nowhere", { busy: "", instead: "" }))).toMatchObject({
      message: "/proc/nowhere cannot be written: no such file or directory",
    });
  });

  test("is told of a run by the option of the command that makes it", () => {
    const request = { output: "/proc/nowhere", model_id: "m", run_id: "r", force: false };
    expect(refusal(() => createRun(request))).toMatchObject({ hint: expect.stringContaining("with --output DIR") });
    expect(refusal(() => createRun({ ...request, option: "--out" }))).toMatchObject({
      hint: expect.stringContaining("with --out DIR"),
    });
  });

  test("is not the one that a dash names: nothing goes to standard output that way", () => {
    for (const place of ["-", join(root, "-")]) {
      expect(refusal(() => requireReplaceable(place, "leave it out"))).toMatchObject({
        code: "usage",
        message: '"-" is no file, and nothing is written to standard output by that name',
        hint: "leave it out",
      });
    }
  });
});

const NOBODY = 65534;
describe.skipIf(process.getuid?.() !== 0)("a place in a folder that is closed (needs root)", () => {
  const user = invokingUser({ SUDO_UID: String(NOBODY), SUDO_GID: String(NOBODY) });
  beforeAll(() => chmodSync(root, 0o700));

  test("is told as one, whatever would be made there", () => {
    const place = join(root, "x.md");
    for (const act of [
      () => requirePlace(place, false, "--out"),
      () => requirePlace(place, true, "--out"),
      () => openNewFolder(place, false),
      () => createLineFile(place, false),
    ]) {
      expect(asUser(user, () => refusal(act))).toMatchObject({
        code: "environment",
        message: `${place} cannot be written: permission denied`,
        hint: expect.stringContaining("--out"),
      });
    }
  });
});
