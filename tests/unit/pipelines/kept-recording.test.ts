import { expect, test } from "bun:test";
import { MrmTraceError } from "../../../src/errors.ts";
import { keepsRecording } from "../../../src/pipelines/kept-recording.ts";

const refused = (code: string): Error => Object.assign(new Error(`${code}: link 'a' -> 'b'`), { code });
const HINT =
  "free some space; what was recorded is kept: mrm-trace analyse results/m/r, or of a copy of that folder on another disk";

test("a disk that is full while results are derived is told with the command that derives them later", () => {
  const cause = refused("ENOSPC");
  const written = new MrmTraceError("environment", "cannot write a", "free some space", { cause });
  expect(keepsRecording(written, "results/m/r")).toMatchObject({
    ...{ code: "environment", message: "cannot write a", hint: HINT, cause },
  });
});

test("so is what no writer of ours met: a link, or a folder, for which there was no room", () => {
  for (const code of ["ENOSPC", "EDQUOT"]) {
    expect(keepsRecording(refused(code), "results/m/r")).toMatchObject({
      ...{ name: "MrmTraceError", code: "environment", hint: HINT, exitCode: 3 },
      message: `the results cannot be written: ${code}: link 'a' -> 'b'`,
    });
  }
});

test("every other error stays as it is", () => {
  const errors = [refused("EACCES"), new MrmTraceError("failure", "a", "b"), "no error"];
  expect(errors.map((error) => keepsRecording(error, "results/m/r"))).toEqual(errors);
});
