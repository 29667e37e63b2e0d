import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "citty";
import { modelCommand } from "../../../src/commands/model.ts";
import { MrmTraceError } from "../../../src/errors.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-model-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command and gives what it wrote to stdout. */
async function run(...rawArgs: string[]): Promise<string> {
  const write = process.stdout.write;
  let text = "";
  process.stdout.write = (chunk: string | Uint8Array) => {
    text += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
    return true;
  };
  try {
    await runCommand(modelCommand, { rawArgs });
  } finally {
    process.stdout.write = write;
  }
  return text;
}

describe("mrm-trace model", () => {
  test("prints path, bytes and parameters", async () => {
    const out = join(folder, "a.gguf");
    const text = await run("--params", "1m", "--type", "q4_0", "--out", out);
    expect(text).toContain(out);
    expect(text).toContain(`${statSync(out).size} bytes`);
    expect(text).toContain("427k parameters");
  });

  test("prints one object with --json", async () => {
    const out = join(folder, "b.gguf");
    const object: unknown = JSON.parse(await run("--params=1m", "--out", out, "--seed", "9", "--json"));
    expect(object).toEqual({
      schema_version: expect.any(String),
      path: out,
      bytes: statSync(out).size,
      parameters: 426624,
      params: "1m",
      type: "q8_0",
      seed: 9,
    });
  });

  const refused: string[][] = [
    ["--params", "2m", "--out", "x"],
    ["--type", "q2_0", "--out", "x"],
    ["--seed=-1", "--out", "x"],
    ["--seed", "4294967296", "--out", "x"],
    ["--seed", "one", "--out", "x"],
    ["--params", "1m"],
  ];
  test.each(refused.map((rawArgs) => ({ rawArgs })))("refuses $rawArgs as usage, with a hint", async ({ rawArgs }) => {
    const error = await run(...rawArgs).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(MrmTraceError);
    expect(error).toMatchObject({ code: "usage", hint: expect.stringMatching(/./) });
  });
});
