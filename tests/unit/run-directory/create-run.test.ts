import { afterAll, describe, expect, test } from "bun:test";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MrmTraceError } from "../../../src/errors.ts";
import { createRun, discardRun, type MadeRun, type Maker } from "../../../src/run-directory/create-run.ts";
import { shown, shownError } from "../../../src/run-directory/held-folder.ts";
import { holdRun, newRunId, type RunDirectory, runPaths } from "../../../src/run-directory/run-directory.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-run-directory-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const made = new DisposableStack();
afterAll(() => made.dispose());

function create(change: Partial<Parameters<typeof createRun>[0]> = {}, maker?: Maker): MadeRun {
  const asked = { output: join(root, "results"), model_id: "demo", run_id: newRunId(), force: false, ...change };
  return made.use(createRun(asked, maker));
}
const make = (change: Partial<Parameters<typeof createRun>[0]> = {}): RunDirectory => create(change).directory;
function failure(act: () => unknown): MrmTraceError {
  try {
    act();
  } catch (error) {
    if (error instanceof MrmTraceError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("the run directory", () => {
  test("is made under output, model and run, for nobody else to read", () => {
    const run = make({ run_id: "one" });
    expect(run.path).toBe(join(root, "results", "demo", "one"));
    expect(existsSync(run.capture)).toBe(true);
    expect(statSync(run.path).mode & 0o777).toBe(0o700);
    expect(runPaths(run.path, run.heldPath)).toEqual(run);
    expect(run).toMatchObject({ run_id: "one", model_id: "demo" });
  });

  test("that is there already is kept, unless --force is given, which replaces only a run", () => {
    const run = make({ run_id: "two" });
    writeFileSync(join(run.path, "kept"), "x");
    const error = failure(() => make({ run_id: "two" }));
    expect(error).toMatchObject({ code: "usage" });
    expect(error.hint).toContain("--force");
    expect(existsSync(join(run.path, "kept"))).toBe(true);
    make({ run_id: "two", force: true });
    expect(existsSync(join(run.path, "kept"))).toBe(false);
    mkdirSync(join(root, "results", "demo", "photos"));
    expect(failure(() => make({ run_id: "photos", force: true })).message).toContain("no run of ours");
  });

  test("that is held is not replaced, whatever is given", () => {
    const run = make({ run_id: "held" });
    using _held = holdRun(run.path);
    const error = failure(() => make({ run_id: "held", force: true }));
    expect(error).toMatchObject({ code: "usage" });
    expect(error.message).toContain(`at work in ${run.path}: process ${process.pid}`);
    expect(existsSync(run.capture)).toBe(true);
  });

  test("refuses ids that would lead out of the output folder, and makes nothing", () => {
    const hostile = ["..", ".", "", "../x", "a/b", "/etc", "a\0b", "-rf", "a b", "x".repeat(200), ".hidden", "a\n"];
    for (const id of hostile) {
      expect(failure(() => make({ run_id: id })).code).toBe("usage");
      expect(failure(() => make({ model_id: id })).code).toBe("usage");
    }
    expect(existsSync(join(root, "x"))).toBe(false);
  });

  test("does not follow a link in place of the model's folder", () => {
    mkdirSync(join(root, "elsewhere"));
    mkdirSync(join(root, "results"), { recursive: true });
    symlinkSync(join(root, "elsewhere"), join(root, "results", "linked"));
    expect(failure(() => make({ model_id: "linked" })).message).toContain("link");
  });

  test("that cannot be made is a fault of the environment with a hint, not a stack trace", () => {
    writeFileSync(join(root, "file"), "");
    const error = failure(() => make({ output: join(root, "file") }));
    expect(error.code).toBe("environment");
    expect(error.hint).toContain("--output");
    expect(failure(() => make({ output: "/proc/nowhere" })).code).toBe("environment");
  });

  test("is reached wherever its name leads by then, and told by its name", () => {
    const { directory } = create({ run_id: "moved" });
    renameSync(directory.path, `${directory.path}-away`);
    mkdirSync(directory.path);
    writeFileSync(directory.metadata, "{}");
    expect(readdirSync(directory.path)).toEqual([]);
    expect(readdirSync(`${directory.path}-away`).sort()).toEqual(["capture", "metadata.json"]);
    const error = shownError(new MrmTraceError("failure", `no ${directory.metadata}`, `look at ${directory.heldPath}`));
    expect(error).toMatchObject({ message: `no ${directory.path}/metadata.json`, hint: `look at ${directory.path}` });
    expect(shown("/proc/1/fd/99999/x")).toBe("/proc/1/fd/99999/x");
  });

  test("that came to nothing is removed, and what took its name is left", () => {
    const run = create({ run_id: "nothing" });
    discardRun(run);
    expect(existsSync(run.directory.path)).toBe(false);
    const moved = create({ run_id: "nothing" });
    renameSync(moved.directory.path, join(root, "away"));
    mkdirSync(moved.directory.path);
    writeFileSync(join(moved.directory.path, "kept"), "");
    discardRun(moved);
    expect(readdirSync(join(root, "away"))).toEqual([]);
    expect(existsSync(join(moved.directory.path, "kept"))).toBe(true);
  });

  test.skipIf(process.getuid?.() !== 0).each([
    ["somebody else's folder", (path: string) => chownSync(path, 65533, 65533)],
    ["a folder that holds something", (path: string) => writeFileSync(join(path, "planted"), "")],
  ])("is refused where %s took its place in the moment in which it was made (needs root)", (_, plant) => {
    const path = join(root, "results", "demo", "raced");
    let calls = 0;
    const maker: Maker = {
      uid: 0,
      as(act) {
        const result = act();
        calls++;
        if (existsSync(path) && calls > 1 && readdirSync(path).length === 0) plant(path);
        return result;
      },
    };
    const error = failure(() => create({ run_id: "raced" }, maker));
    expect(error).toMatchObject({
      code: "environment",
      message: expect.stringContaining("another program replaced it"),
    });
    rmSync(path, { recursive: true });
  });
});
