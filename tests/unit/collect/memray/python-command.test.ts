import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pythonCommand } from "../../../../src/collect/memray/python-command.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-python-command-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const parse = (...command: string[]) => pythonCommand(command, (name) => name);

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("a command that runs Python", () => {
  test("has an interpreter, its options, and a script, module or code with arguments", () => {
    expect(parse("python3", "a.py", "-c", "1")).toEqual({
      interpreter: "python3",
      options: [],
      program: ["a.py", "-c", "1"],
    });
    expect(parse("/v/bin/python3.11", "-u", "-X", "dev", "-W", "error", "a.py")).toEqual({
      interpreter: "/v/bin/python3.11",
      options: ["-u", "-X", "dev", "-W", "error"],
      program: ["a.py"],
    });
    expect(parse("python", "-Im", "pkg.tool", "x")).toEqual({
      interpreter: "python",
      options: ["-I"],
      program: ["-m", "pkg.tool", "x"],
    });
    expect(parse("python", "-mtool", "-x")?.program).toEqual(["-m", "tool", "-x"]);
    expect(parse("python", "-Wmodule", "-Xc", "-c", "pass", "1")).toEqual({
      interpreter: "python",
      options: ["-Wmodule", "-Xc"],
      program: ["-c", "pass", "1"],
    });
    expect(parse("python", "--check-hash-based-pycs", "never", "a.py")?.options.length).toBe(2);
  });

  test("may be a script that names Python in its first line", () => {
    const tool = file("tool", "#!/v/bin/python3 -sE\nprint()\n");
    expect(parse(tool, "serve")).toEqual({ interpreter: "/v/bin/python3", options: ["-sE"], program: [tool, "serve"] });
    const env = file("env", "#!/usr/bin/env -S python3 -u\n");
    expect(parse(env)).toEqual({ interpreter: "python3", options: ["-u"], program: [env] });
  });

  test("is none where nothing names a program, or another one is run", () => {
    for (const words of [
      [],
      ["python3"],
      ["python3", "-"],
      ["python3", "-u"],
      ["python3", "-c"],
      ["bash", "python3"],
    ]) {
      expect(parse(...words)).toBeNull();
    }
    expect(parse(file("shell", "#!/bin/sh\npython3 a.py\n"))).toBeNull();
    expect(parse(file("binary", "\u007fELF#!/usr/bin/python3\n"))).toBeNull();
    expect(parse("/nowhere/python-like")).toBeNull();
    const refuse = (): string => {
      throw new Error("not found");
    };
    expect(pythonCommand(["nowhere"], refuse)).toBeNull();
  });
});
