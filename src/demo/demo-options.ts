/** What the demo can be told, as the arguments of its child process. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { MrmTraceError } from "../errors.ts";

export const FLASH_ATTENTION = ["on", "off", "auto"] as const;
export type FlashAttention = (typeof FLASH_ATTENTION)[number];

export const PROMPT_KINDS = ["bytes", "vocabulary", "file"] as const;
/** Where prompts come from: bytes in our own vocabulary, words drawn from any model's, or a file. */
export type PromptKind = (typeof PROMPT_KINDS)[number];

export interface DecodeOptions {
  /** Prompt of each prefill, in tokens; of a file's prompts the most. */
  readonly promptTokens: number;
  /** Room of the KV cache in tokens, of each sequence; llama.cpp may round it up. */
  readonly contextTokens: number;
  /** Sequences decoded in parallel. */
  readonly sequences: number;
  /** Tokens decoded behind each prompt; null until the context is full. */
  readonly outputTokens: number | null;
  /** Prompts of all sequences together; null for no limit. */
  readonly prompts: number | null;
  readonly threads: number;
  readonly flashAttention: FlashAttention;
  /** Seed of the prompt and of the sampling. */
  readonly seed: number;
  /** Ends the decoding this long after the first token; null for no limit. */
  readonly seconds: number | null;
  /** Ends the decoding after so many decoded tokens; null for no limit. */
  readonly tokens: number | null;
}

export interface RunnerOptions extends DecodeOptions {
  /** Folder of the installed engine. */
  readonly engineDir: string;
  readonly modelPath: string;
  readonly promptKind: PromptKind;
  /** File of prompts, where they come from one. */
  readonly promptFile: string | null;
  /** Only these categories of the file; all where it is empty. */
  readonly promptCategories: readonly string[];
  /** True where a file's prompts are repeated to be as long as `promptTokens`. */
  readonly isPromptExact: boolean;
  /** File for the report; null prints it as the last line of stdout. */
  readonly reportPath: string | null;
}

/** One core is left to the tracer: two threads and a reader on two cores would measure the scheduler. */
export const DECODE_DEFAULTS: DecodeOptions = {
  promptTokens: 66,
  contextTokens: 512,
  sequences: 1,
  outputTokens: null,
  prompts: null,
  threads: Math.max(1, availableParallelism() - 1),
  flashAttention: "on",
  seed: 1,
  seconds: 30,
  tokens: null,
};

/** The arguments that `parseRunnerArguments` reads back. */
export function runnerArguments(options: RunnerOptions): string[] {
  const given: [string, string | number | null][] = [
    ["engine", options.engineDir],
    ["model", options.modelPath],
    ["prompt-tokens", options.promptTokens],
    ["context-tokens", options.contextTokens],
    ["sequences", options.sequences],
    ["output-tokens", options.outputTokens],
    ["prompts", options.prompts],
    ["prompt-kind", options.promptKind],
    ["prompt-file", options.promptFile],
    ["prompt-categories", JSON.stringify(options.promptCategories)],
    ["prompt-exact", options.isPromptExact ? 1 : 0],
    ["threads", options.threads],
    ["flash-attention", options.flashAttention],
    ["seed", options.seed],
    ["seconds", options.seconds],
    ["tokens", options.tokens],
    ["report", options.reportPath],
  ];
  return given.filter(([, value]) => value !== null).map(([name, value]) => `--${name}=${value}`);
}

const LEAST_SECONDS = 0.1;
const MOST_SECONDS = 2 ** 31;

/** @throws MrmTraceError usage */
function wholeNumber(name: string, text: string, smallest: number, largest: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= smallest && value <= largest) return value;
  throw new MrmTraceError("usage", `--${name} received "${text}"`, `give an integer from ${smallest} to ${largest}`);
}

/** A time may have a fraction, as `--seconds` has. @throws MrmTraceError usage */
function secondsFrom(text: string): number {
  const value = /^\d{1,10}(?:\.\d{1,17})?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= LEAST_SECONDS && value <= MOST_SECONDS) return value;
  const hint = `give a time from ${LEAST_SECONDS} to ${MOST_SECONDS} seconds`;
  throw new MrmTraceError("usage", `--seconds received "${text}"`, hint);
}

/** Reads the arguments of the child; without `--seconds` and `--tokens` the default time holds. @throws MrmTraceError usage */
export function parseRunnerArguments(args: readonly string[]): RunnerOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      engine: { type: "string" },
      model: { type: "string" },
      "prompt-tokens": { type: "string", default: String(DECODE_DEFAULTS.promptTokens) },
      "context-tokens": { type: "string", default: String(DECODE_DEFAULTS.contextTokens) },
      sequences: { type: "string", default: String(DECODE_DEFAULTS.sequences) },
      "output-tokens": { type: "string" },
      prompts: { type: "string" },
      "prompt-kind": { type: "string", default: "bytes" },
      "prompt-file": { type: "string" },
      "prompt-categories": { type: "string", default: "[]" },
      "prompt-exact": { type: "string", default: "0" },
      threads: { type: "string", default: String(DECODE_DEFAULTS.threads) },
      "flash-attention": { type: "string", default: DECODE_DEFAULTS.flashAttention },
      seed: { type: "string", default: String(DECODE_DEFAULTS.seed) },
      seconds: { type: "string" },
      tokens: { type: "string" },
      report: { type: "string" },
    },
  });
  if (!values.engine || !values.model) {
    throw new MrmTraceError("usage", "no engine or no model was given", "add --engine=DIR and --model=FILE");
  }
  const flashAttention = FLASH_ATTENTION.find((word) => word === values["flash-attention"]);
  if (!flashAttention) {
    const received = values["flash-attention"];
    throw new MrmTraceError("usage", `--flash-attention received "${received}"`, "choose one of on, off, auto");
  }
  const contextTokens = wholeNumber("context-tokens", values["context-tokens"], 16, 2 ** 24);
  const promptKind = PROMPT_KINDS.find((word) => word === values["prompt-kind"]);
  if (!promptKind || (promptKind === "file") !== (values["prompt-file"] !== undefined)) {
    const received = values["prompt-kind"];
    throw new MrmTraceError(
      "usage",
      `--prompt-kind received "${received}"`,
      "choose bytes, vocabulary, or file with --prompt-file",
    );
  }
  const optional = (name: "tokens" | "output-tokens" | "prompts"): number | null => {
    const text = values[name];
    return text === undefined ? null : wholeNumber(name, text, 1, 2 ** 31);
  };
  const tokens = optional("tokens");
  const outputTokens = optional("output-tokens");
  const prompts = optional("prompts");
  const noLimit = values.seconds === undefined && tokens === null && prompts === null;
  const seconds = noLimit ? String(DECODE_DEFAULTS.seconds) : values.seconds;
  return {
    engineDir: values.engine,
    modelPath: values.model,
    contextTokens,
    sequences: wholeNumber("sequences", values.sequences, 1, 256),
    outputTokens,
    prompts,
    promptKind,
    promptFile: values["prompt-file"] ?? null,
    promptCategories: JSON.parse(values["prompt-categories"]),
    isPromptExact: values["prompt-exact"] === "1",
    // The prompt and what is decoded behind it must fit; the first token comes out of the prompt's own pass.
    promptTokens: wholeNumber("prompt-tokens", values["prompt-tokens"], 1, contextTokens - (outputTokens ?? 2)),
    threads: wholeNumber("threads", values.threads, 1, 1024),
    flashAttention,
    seed: wholeNumber("seed", values.seed, 0, 2 ** 32 - 1),
    seconds: seconds === undefined ? null : secondsFrom(seconds),
    tokens,
    reportPath: values.report ?? null,
  };
}
