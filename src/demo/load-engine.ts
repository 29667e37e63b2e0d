/** Real llama.cpp and a model in this process. */

import { readGgufFile } from "../engine/gguf/file.ts";
import { MrmTraceError } from "../errors.ts";
import type { RunnerOptions } from "./demo-options.ts";
import { engineModule } from "./install.ts";
import type { Llama, LlamaContext, LlamaModel, LlamaModule } from "./llama.ts";
import { readPrompts } from "./prompt-file.ts";
import { bytePrompts, type PromptSource, textPrompts, vocabularyPrompts } from "./prompts.ts";

/** @param onLog takes every line that llama.cpp says of itself */
export async function startEngine(options: RunnerOptions, onLog: (line: string) => void): Promise<Llama> {
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

export interface Loaded {
  readonly model: LlamaModel;
  readonly context: LlamaContext;
  readonly promptOf: PromptSource;
}

/** @throws MrmTraceError failure, where the file is not a whole GGUF */
export async function loadModel(llama: Llama, options: RunnerOptions): Promise<Loaded> {
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
  return { model, context, promptOf: promptSource(options, model, vocabularySize) };
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
