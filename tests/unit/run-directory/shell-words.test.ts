import { expect, test } from "bun:test";
import { analyseCommand, shellWords } from "../../../src/run-directory/shell-words.ts";

/** The words that a shell makes of a command line. */
function wordsOf(line: string): string[] {
  const said = Bun.spawnSync(["sh", "-c", `printf '%s\\n' ${line}`]).stdout.toString();
  return said.split("\n").slice(0, -1);
}

test("words of a command are what a shell takes for the same words", () => {
  const words = ["./infer", "-m", "a model.gguf", "it's", "$HOME", "*", "", "--n=3"];
  expect(wordsOf(shellWords(words))).toEqual(words);
});

test("the command that derives a run again names its folder, whatever that is called", () => {
  expect(analyseCommand("results/demo/7")).toBe("mrm-trace analyse results/demo/7");
  expect(wordsOf(analyseCommand("my results/it's $1"))).toEqual(["mrm-trace", "analyse", "my results/it's $1"]);
});
