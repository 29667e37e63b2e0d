import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LlamaModel } from "../../../src/demo/llama.ts";
import { isPromptFile, promptFileProblem, readPrompts } from "../../../src/demo/prompt-file.ts";
import { bytePrompts, textPrompts, vocabularyPrompts } from "../../../src/demo/prompts.ts";

/** Words are the character codes; tokens below 40 are special. */
const model: LlamaModel = {
  tokens: { bos: 7, shouldPrependBosToken: true },
  tokenize: (text) => [...text].map((letter) => letter.charCodeAt(0)),
  detokenize: (tokens) => String.fromCharCode(...tokens),
  isSpecialToken: (token) => token < 40,
  isEogToken: (token) => token === 50,
  createContext: () => Promise.reject(new Error("not used")),
};

describe("prompts of an exact length", () => {
  const sources = [bytePrompts, (length: number, seed: number) => vocabularyPrompts(length, seed, model, 32000)];
  test.each(sources)("repeat for a seed and differ between prompts and seeds", (make) => {
    expect(make(66, 1)(0)).toEqual(make(66, 1)(0));
    expect(make(66, 1)(0)).not.toEqual(make(66, 1)(1));
    expect(make(66, 1)(0)).not.toEqual(make(66, 2)(0));
    for (const length of [1, 2, 300]) expect(make(length, 1)(3)).toHaveLength(length);
  });

  test("of our own vocabulary are printable bytes behind the begin token", () => {
    const [first, ...rest] = bytePrompts(500, 1)(0);
    expect(first).toBe(1);
    for (const token of rest) expect(token).toBeWithin(3 + 0x20, 3 + 0x7f);
  });

  test("of another vocabulary are words without a meaning to the engine", () => {
    const [first, ...rest] = vocabularyPrompts(500, 1, model, 60)(0);
    expect(first).toBe(7);
    expect(rest).not.toContain(50);
    for (const token of rest) expect(token).toBeWithin(40, 60);
  });

  test("from a text are cut, and repeated where they must be as long", () => {
    expect(textPrompts(["abc"], 3, false, model)(0)).toEqual([7, 97, 98]);
    expect(textPrompts(["abc"], 9, false, model)(0)).toEqual([7, 97, 98, 99]);
    expect(textPrompts(["abc"], 9, true, model)(0)).toEqual([7, 97, 98, 99, 97, 98, 99, 97, 98]);
    expect(textPrompts(["a", "b"], 9, false, model)(3)).toEqual([7, 98]);
    expect(() => textPrompts([""], 9, true, model)(0)).toThrow("no tokens");
  });
});

describe("a file of prompts", () => {
  function withFile<T>(name: string, text: string, use: (path: string) => T): T {
    const folder = mkdtempSync(join(tmpdir(), "mrm-trace-prompts-"));
    try {
      const path = join(folder, name);
      writeFileSync(path, text);
      return use(path);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  test("has a prompt on each line that is not empty", () => {
    expect(withFile("p.txt", "one\r\n\ntwo", (path) => readPrompts(path, []))).toEqual(["one", "two"]);
  });

  test("of JSON lines has texts and categories", () => {
    const lines = '{"prompt": "a", "category": "x"}\n{"text": "b", "category": "y"}\n';
    expect(withFile("p.jsonl", lines, (path) => readPrompts(path, ["y"]))).toEqual(["b"]);
    expect(withFile("p.jsonl", lines, (path) => readPrompts(path, []))).toEqual(["a", "b"]);
  });

  const refused: [name: string, text: string, categories: string[], reason: string][] = [
    ["p.txt", "\n\n", [], "no prompts"],
    ["p.txt", "one", ["x"], "only JSON lines"],
    ["p.jsonl", "{", [], "line 1 is no JSON"],
    ["p.jsonl", "null", [], "line 1 has no text"],
    ["p.jsonl", '{"prompt": 3}', [], "line 1 has no text"],
    ["p.jsonl", '{"prompt": "a"}', ["x"], "no prompt of these categories"],
  ];
  test.each(refused)("%s of %p is refused with its reason", (name, text, categories, reason) => {
    expect(withFile(name, text, (path) => promptFileProblem(path, categories))).toContain(reason);
  });

  test("is told from the name of a data set", () => {
    expect(["./p", "p.txt", "/p", "package.json"].map(isPromptFile)).toEqual([true, true, true, true]);
    expect(["sharegpt", "org/name", "hf://a/b.jsonl", "https://a/b.txt"].map(isPromptFile)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});
