import { describe, expect, test } from "bun:test";
import {
  DECODE_DEFAULTS,
  parseRunnerArguments,
  type RunnerOptions,
  runnerArguments,
} from "../../../src/demo/demo-options.ts";

const FILES = {
  engineDir: "/engine with space",
  modelPath: "/m.gguf",
  reportPath: null,
  promptKind: "bytes",
  promptFile: null,
  promptCategories: [],
  isPromptExact: false,
} as const;
const PROMPTS = {
  promptKind: "file",
  promptFile: "/p q.txt",
  promptCategories: ["a,b", "c"],
  isPromptExact: true,
} as const;

describe("the arguments of the demo's child", () => {
  test("come back as they were given", () => {
    const cases: RunnerOptions[] = [
      { ...FILES, ...DECODE_DEFAULTS },
      { ...FILES, ...DECODE_DEFAULTS, seconds: null, tokens: 8, reportPath: "/r=1.json", flashAttention: "off" },
      { ...FILES, ...DECODE_DEFAULTS, seconds: 1.5 },
      { ...FILES, ...DECODE_DEFAULTS, seconds: 0.1 },
      { ...FILES, ...DECODE_DEFAULTS, seconds: 2, tokens: 9, seed: 2 ** 32 - 1, threads: 3, contextTokens: 1024 },
      {
        ...FILES,
        ...DECODE_DEFAULTS,
        ...PROMPTS,
        seconds: null,
        sequences: 4,
        prompts: 9,
        outputTokens: 1,
        promptTokens: 511,
      },
    ];
    for (const options of cases) expect(parseRunnerArguments(runnerArguments(options))).toEqual(options);
  });

  test("have a time limit when no limit is given", () => {
    expect(parseRunnerArguments(["--engine=/e", "--model=/m"]).seconds).toBe(30);
    expect(parseRunnerArguments(["--engine=/e", "--model=/m", "--tokens=5"]).seconds).toBeNull();
  });

  test("leave a core to the tracer", () => {
    expect(DECODE_DEFAULTS.threads).toBe(Math.max(1, navigator.hardwareConcurrency - 1));
  });

  test("are refused with a hint when they make no sense", () => {
    const bad = [
      "--prompt-tokens=511",
      "--sequences=0",
      "--seconds=0.09",
      "--seconds=1e3",
      "--seconds=soon",
      "--prompts=0",
      "--prompt-kind=file",
      "--prompt-kind=x",
      "--threads=0",
      "--flash-attention=yes",
      "--seed=-1",
      "--context-tokens=1e3",
    ];
    for (const argument of bad) {
      expect(() => parseRunnerArguments(["--engine=/e", "--model=/m", argument])).toThrow(
        expect.objectContaining({ code: "usage", hint: expect.stringMatching(/./) }),
      );
    }
    expect(() => parseRunnerArguments(["--model=/m"])).toThrow("no engine");
  });
});
