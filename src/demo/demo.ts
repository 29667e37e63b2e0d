/** The demo engine as a command to launch: real llama.cpp, a model of random weights. */
import { join, resolve } from "node:path";
import { RUNTIME } from "../runtime.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { DECODE_DEFAULTS, type DecodeOptions, runnerArguments } from "./demo-options.ts";
import { engineObjects, type Preparation } from "./install.ts";
import type { ModelSpec } from "./model/write-model.ts";
import { TRACER_PID } from "./parent.ts";
import { prepareDemo } from "./prepare.ts";

export interface DemoOptions extends Partial<DecodeOptions>, Preparation {
  readonly cacheDir: string;
  /** A GGUF of the user's own, in place of one of random weights. */
  readonly model?: string;
  readonly params?: ModelSpec["params"];
  readonly type?: ModelSpec["type"];
  /** File of prompts, see prompt-file.ts; without one they are seeded. */
  readonly promptFile?: string;
  readonly promptCategories?: readonly string[];
  /** True where a file's prompts are repeated to be as long as `promptTokens`. */
  readonly isPromptExact?: boolean;
  /** File to which the child writes its report; without it the report is the last line of its stdout. */
  readonly reportPath?: string;
}

export interface DemoCommand {
  readonly command: string[];
  /** To be added to the environment of the child. */
  readonly env: Record<string, string>;
  readonly modelPath: string;
  /** Shared objects that the child may map, absolute and resolved: probes can be attached before it starts. */
  readonly objects: string[];
}

/**
 * Sees that engine and model are in the cache, and returns how to start the demo; given none of `seconds`, `tokens` and `prompts` it decodes 30 s.
 * Under sudo both are made by the invoking user, as whom the child will run.
 * @throws MrmTraceError environment, or what `signal` carries
 */
export async function demoCommand(options: DemoOptions): Promise<DemoCommand> {
  const spec: ModelSpec = { params: options.params ?? "110m", type: options.type ?? "q8_0", seed: options.seed ?? 1 };
  const needs = { cacheDir: options.cacheDir, spec: options.model === undefined ? spec : null };
  const { engineDir, modelPath: written } = await prepareDemo(needs, options);
  const modelPath = written ?? resolve(options.model ?? "");
  const hasLimit = (options.tokens ?? options.prompts ?? null) !== null;
  const args = runnerArguments({
    engineDir,
    modelPath,
    reportPath: options.reportPath ?? null,
    promptTokens: options.promptTokens ?? DECODE_DEFAULTS.promptTokens,
    contextTokens: options.contextTokens ?? DECODE_DEFAULTS.contextTokens,
    sequences: options.sequences ?? DECODE_DEFAULTS.sequences,
    outputTokens: options.outputTokens ?? null,
    prompts: options.prompts ?? null,
    promptKind: options.promptFile !== undefined ? "file" : options.model !== undefined ? "vocabulary" : "bytes",
    promptFile: options.promptFile === undefined ? null : resolve(options.promptFile),
    promptCategories: options.promptCategories ?? [],
    isPromptExact: options.isPromptExact ?? false,
    threads: options.threads ?? DECODE_DEFAULTS.threads,
    flashAttention: options.flashAttention ?? DECODE_DEFAULTS.flashAttention,
    seed: options.seed ?? DECODE_DEFAULTS.seed,
    seconds: options.seconds ?? (hasLimit ? null : DECODE_DEFAULTS.seconds),
    tokens: options.tokens ?? null,
  });
  return {
    command: [...RUNTIME, join(import.meta.dir, "runner.ts"), ...args],
    env: { [TRACER_PID]: String(process.pid) },
    modelPath,
    objects: asUser(invokingUser(), () => engineObjects(engineDir)),
  };
}
