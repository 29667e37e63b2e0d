/** The demo's own process: loads a model by real llama.cpp, decodes, reports. Started as `bun runner.ts --engine=.. --model=..`. */
import { basename } from "node:path";
import { MrmTraceError } from "../../errors.ts";
import { readGgufFile } from "../gguf/file.ts";
import { decode } from "./decode.ts";
import { type EngineFacts, NO_FACTS, withLogLine } from "./engine-log.ts";
import { engineModule } from "./install.ts";
import type { Llama, LlamaContext, LlamaModel, LlamaModule } from "./llama.ts";
import { parseRunnerArguments, type RunnerOptions } from "./options.ts";
import { endWithParent } from "./parent.ts";
import { readPrompts } from "./prompt-file.ts";
import { bytePrompts, type PromptSource, textPrompts, vocabularyPrompts } from "./prompts.ts";
import { demoReport, publish } from "./report.ts";

const PROGRESS_MS = 5000;

function say(line: string): void {
  process.stdout.write(`demo: ${line}\n`);
}

/** Tells whether SIGINT or SIGTERM has come: the decoding then stops after its token and reports. */
function stopOnSignals(): () => boolean {
  let stop = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // Not `once`: a dependency ends the process when it finds no listener beside its own. Nor does a second signal end it,
    // because a terminal and the tracer both send one for a single Ctrl-C.
    process.on(signal, () => {
      stop = true;
    });
  }
  return () => stop;
}

async function start(options: RunnerOptions, onLog: (line: string) => void): Promise<Llama> {
  const module: LlamaModule = await import(engineModule(options.engineDir));
  return module.getLlama({
    gpu: false,
    build: "never",
    maxThreads: options.threads,
    logLevel: "info",
    logger(level, message) {
      onLog(message);
      if (level === "error" || level === "fatal") process.stderr.write(`llama.cpp: ${message}\n`);
    },
  });
}

interface Loaded {
  readonly context: LlamaContext;
  readonly promptOf: PromptSource;
}

async function load(llama: Llama, options: RunnerOptions): Promise<Loaded> {
  const gguf = readGgufFile(options.modelPath);
  if (!gguf.ok) {
    const message = `${options.modelPath} is not a whole GGUF: ${gguf.reason}`;
    throw new MrmTraceError("failure", message, "write it again: mrm-trace model --force --out FILE");
  }
  const model = await llama.loadModel({ modelPath: options.modelPath });
  const context = await model.createContext({
    contextSize: options.contextTokens,
    sequences: options.sequences,
    threads: options.threads,
    flashAttention: options.flashAttention === "auto" ? "auto" : options.flashAttention === "on",
    experimentalKvCacheKeyType: "F16",
    experimentalKvCacheValueType: "F16",
  });
  const words = gguf.directory.metadata.get("tokenizer.ggml.tokens");
  const vocabularySize = typeof words === "object" ? words.length : 0;
  return { context, promptOf: promptSource(options, model, vocabularySize) };
}

function promptSource(options: RunnerOptions, model: LlamaModel, vocabularySize: number): PromptSource {
  const { promptKind, promptTokens, seed, promptFile } = options;
  if (promptFile !== null) {
    const texts = readPrompts(promptFile, options.promptCategories);
    return textPrompts(texts, promptTokens, options.isPromptExact, model);
  }
  if (promptKind === "bytes" || vocabularySize === 0) return bytePrompts(promptTokens, seed);
  return vocabularyPrompts(promptTokens, seed, model, vocabularySize);
}

/** Says every few seconds how far it is. */
function progressLine(): (decodeTokens: number, prefills: number) => void {
  let next = performance.now() + PROGRESS_MS;
  return (decodeTokens, prefills) => {
    if (performance.now() < next) return;
    next = performance.now() + PROGRESS_MS;
    say(`${decodeTokens} tokens decoded, prompt ${prefills}`);
  };
}

async function main(): Promise<void> {
  endWithParent();
  const stopped = stopOnSignals();
  const options = parseRunnerArguments(process.argv.slice(2));
  let facts: EngineFacts = NO_FACTS;
  const llama = await start(options, (line) => {
    facts = withLogLine(facts, line);
  });
  try {
    const began = performance.now();
    const { context, promptOf } = await load(llama, options);
    const loadMs = performance.now() - began;
    say(`${basename(options.modelPath)} loaded in ${loadMs.toFixed(0)} ms, context of ${context.contextSize} tokens`);
    const sequences = Array.from({ length: options.sequences }, () => context.getSequence());
    const decoded = await decode(sequences, context.contextSize, options, promptOf, stopped, progressLine());
    const { contextSize, currentThreads: threads } = context;
    const report = demoReport(options, { model: options.modelPath, loadMs, contextSize, threads }, facts, decoded);
    say(`flash attention ${facts.flashAttention === null ? "not told" : facts.flashAttention ? "on" : "off"}`);
    say(
      `${decoded.prefills} x ${options.promptTokens} prompt tokens, ${decoded.decodeTokens} decoded, ` +
        `${report.decode_tokens_per_s?.toFixed(1) ?? "no"} tokens/s, ${threads} threads`,
    );
    publish(report, options.reportPath);
  } finally {
    await llama.dispose();
  }
}

try {
  await main();
} catch (error) {
  const hint = error instanceof MrmTraceError ? `\n  ${error.hint}` : "";
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}${hint}\n`);
  process.exitCode = 1;
}
