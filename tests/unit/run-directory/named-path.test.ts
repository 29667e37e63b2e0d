import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MrmTraceError } from "../../../src/errors.ts";
import { requireAnalysed } from "../../../src/run-directory/analysed-run.ts";
import { lookAt, requireFolder } from "../../../src/run-directory/named-path.ts";
import { asUser } from "../../../src/target/acting-user.ts";
import { invokingUser } from "../../../src/target/invoking-user.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-named-"));
afterAll(() => rmSync(root, { recursive: true }));

function refusal(act: () => unknown): MrmTraceError {
  try {
    act();
  } catch (error) {
    if (error instanceof MrmTraceError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

test("what is not there is told as such, also below a file", () => {
  writeFileSync(join(root, "file"), "");
  for (const name of ["nothing", "file/below"]) {
    expect(lookAt(join(root, name))).toBeNull();
    expect(refusal(() => requireFolder(join(root, name)))).toMatchObject({
      code: "usage",
      message: `no such run directory: "${join(root, name)}"`,
    });
  }
  expect(refusal(() => requireFolder(join(root, "file"))).message).toBe(`${join(root, "file")} is no folder`);
});

const NOBODY = 65534;
describe.skipIf(process.getuid?.() !== 0)("what another user recorded (needs root)", () => {
  const user = invokingUser({ SUDO_UID: String(NOBODY), SUDO_GID: String(NOBODY) });
  const [mine, theirs] = [join(root, "model/my run"), join(root, "theirs")];
  beforeAll(() => {
    chmodSync(root, 0o755);
    mkdirSync(mine, { recursive: true });
    chmodSync(join(root, "model"), 0o700);
    mkdirSync(theirs, { mode: 0o700 });
    writeFileSync(join(root, "secret"), "", { mode: 0o600 });
    mkdirSync(join(root, "listed"));
    chmodSync(join(root, "listed"), 0o744);
  });

  test("is told as closed and not as missing where a folder on the way is, with a command that makes a copy", () => {
    const refused = asUser(user, () => refusal(() => requireFolder(mine)));
    expect(refused).toMatchObject({
      code: "environment",
      message: `${mine} cannot be read: permission denied`,
      hint: `take a copy that is yours: sudo cp -r '${mine}' . && sudo chown -hR 0:0 './my run'`,
    });
  });

  test("is told as closed, and not as no run, where its own folder is, whoever asks", () => {
    for (const ask of [requireFolder, requireAnalysed, lookAt]) {
      const refused = asUser(user, () => refusal(() => ask(theirs)));
      expect([refused.code, refused.message, refused.hint]).toEqual([
        "environment",
        `${theirs} cannot be read: permission denied`,
        `sudo chown -hR 0:0 ${theirs}`,
      ]);
    }
  });

  test("is told as closed where its names may be listed, and nothing behind them read", () => {
    const refused = asUser(user, () => refusal(() => requireFolder(join(root, "listed"))));
    expect(refused.message).toEndWith("cannot be read: permission denied");
  });

  test("is told as closed where its files are, with the command for all of it", () => {
    const run = join(root, "run");
    mkdirSync(run);
    writeFileSync(join(run, "metadata.json"), "{}", { mode: 0o600 });
    const refused = asUser(user, () => refusal(() => requireAnalysed(run)));
    expect([refused.code, refused.message, refused.hint]).toEqual([
      "environment",
      `${join(run, "metadata.json")} cannot be read: permission denied`,
      `sudo chown -hR 0:0 ${run}`,
    ]);
  });

  test("is told of a file in the same way", () => {
    const refused = asUser(user, () => refusal(() => lookAt(join(root, "secret"))));
    expect([refused.code, refused.message]).toEqual([
      "environment",
      `${join(root, "secret")} cannot be read: permission denied`,
    ]);
  });
});
