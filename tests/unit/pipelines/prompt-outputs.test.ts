import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, ftruncateSync, mkdtempSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publishTexts } from "../../../src/demo/texts.ts";
import { openTextsFile, savePromptOutputs } from "../../../src/pipelines/prompt-outputs.ts";
import { runPaths } from "../../../src/run-directory/run-directory.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-texts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const directory = runPaths(folder);
const prompt = { index: 0, prompt: "a", output: "b", prompt_tokens: 1, tokens_generated: 1, duration_s: 0.5 };

/** What is said of a file into which something was written. */
function savedFrom(write: (fd: number) => void): string | null {
  using texts = openTextsFile();
  write(texts.fd);
  return savePromptOutputs(directory, texts.fd);
}

describe("prompt_outputs.json", () => {
  test("has the texts as they were handed over, whatever is in them, for its owner alone", () => {
    const hostile = `\u001b]0;x\u0007</script>\u0000\u202e"\\\ud800`;
    const outputs = { prompts: [{ ...prompt, prompt: hostile, output: "\ufffd\u2028" }], prompts_left_out: 2 };
    expect(savedFrom((fd) => publishTexts(outputs, fd))).toBeNull();
    const text = readFileSync(directory.prompt_outputs, "utf8");
    expect(JSON.parse(text)).toEqual(outputs);
    // No control character reaches whoever prints the file.
    expect([...text].filter((letter) => letter < " " && letter !== "\n")).toEqual([]);
    expect(statSync(directory.prompt_outputs).mode & 0o777).toBe(0o600);
  });

  test.each([
    ["nothing", () => undefined, "the demo ended before it handed over its texts"],
    ["no JSON", (fd: number) => writeSync(fd, "{\u001b[31m"), "what the demo handed over is not of its form"],
    ["another form", (fd: number) => writeSync(fd, '{"prompts": [{"index": -1}]}'), "is not of its form"],
    ["deep nesting", (fd: number) => writeSync(fd, "[".repeat(1e6)), "is not of its form"],
    ["no UTF-8", (fd: number) => writeSync(fd, Buffer.from([0x22, 0xff, 0x22])), "was not written"],
    ["far too much", (fd: number) => ftruncateSync(fd, 2 ** 40), "more than any demo has"],
  ])("is not there after %s, and the run says why", (_, write, why) => {
    rmSync(directory.prompt_outputs, { force: true });
    const said = savedFrom(write);
    expect(said).toContain(why);
    expect(said).not.toContain("\u001b");
    expect(existsSync(directory.prompt_outputs)).toBe(false);
  });
});
