/** What a run launches: the user's command, or the demo engine. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { DemoOptions } from "../config/schema.ts";
import { demoCacheDir } from "../demo/cache.ts";
import { type DemoOptions as DemoPreparation, demoCommand } from "../demo/demo.ts";
import { readGgufFile } from "../engine/gguf/file.ts";
import { modelFacts } from "../engine/gguf/model-facts.ts";
import { MrmTraceError } from "../errors.ts";
import type { ModelFacts } from "../schema/model-facts.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";

export interface RunTarget {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Shared objects of the engine that are known already. */
  readonly engineObjects: readonly string[];
  /** Name from which the model's id is made. */
  readonly modelName: string;
  /** What the file of the model says; null where none was found. */
  readonly model: ModelFacts | null;
  readonly isDemo: boolean;
}

/** Paths of GGUF files among the words of a command line, as they stand there. */
export function ggufWords(command: readonly string[]): string[] {
  return command
    .map((word) => (word.startsWith("--") && word.includes("=") ? word.slice(word.indexOf("=") + 1) : word))
    .filter((path) => path.endsWith(".gguf"));
}

/** The model of the GGUF that a command line names, if it names one that can be read; one with a name before others. */
function modelOf(command: readonly string[]): ModelFacts | null {
  const models = ggufWords(command).map((path) => asUser(invokingUser(), () => modelFacts(path)));
  return models.find((model) => (model?.name ?? "") !== "") ?? models.find((model) => model !== null) ?? null;
}

/** What the demo engine decodes, in place of a time: each prompt with so many tokens behind it. */
export interface Workload {
  readonly output_tokens: number;
  /** Prompts of all sequences together. */
  readonly prompts: number;
  /** A local file of prompts; null for seeded ones. */
  readonly prompt_file: string | null;
  readonly prompt_categories: readonly string[];
  /** True where a file's prompts are repeated to be as long as `prompt_tokens` of the demo. */
  readonly is_prompt_exact: boolean;
}

function workloadOptions(workload: Workload): Partial<DemoPreparation> {
  return {
    outputTokens: workload.output_tokens,
    prompts: workload.prompts,
    promptCategories: workload.prompt_categories,
    isPromptExact: workload.is_prompt_exact,
    ...(workload.prompt_file === null ? {} : { promptFile: workload.prompt_file }),
  };
}

function limitOptions(demo: DemoOptions): Partial<DemoPreparation> {
  return demo.tokens === undefined ? { seconds: demo.seconds } : { tokens: demo.tokens };
}

/** Tokens that must find room behind a prompt: one comes out of the prompt's own pass, one is decoded. */
const LEAST_OUTPUT_TOKENS = 2;

/** What the demo itself would find wrong, before anything is made or attached. @throws MrmTraceError usage */
function requireDemo({ prompt_tokens, context_tokens, model }: DemoOptions): void {
  if (prompt_tokens + LEAST_OUTPUT_TOKENS > context_tokens) {
    const message = `a prompt of ${prompt_tokens} tokens leaves no room to decode in a context of ${context_tokens}`;
    const most = context_tokens - LEAST_OUTPUT_TOKENS;
    throw new MrmTraceError("usage", message, `give --prompt-tokens ${most} or less, or more --context-tokens`);
  }
  if (model === undefined) return;
  if (!existsSync(model)) {
    const hint = `give the path of a GGUF, or write one: mrm-trace model --out ${model}`;
    throw new MrmTraceError("usage", `there is no model "${model}"`, hint);
  }
  const read = asUser(invokingUser(), () => readGgufFile(model));
  if (read.ok) return;
  throw new MrmTraceError("usage", `${model} is not a whole GGUF: ${read.reason}`, "give the path of a whole GGUF");
}

/**
 * @param preparing `signal` ends what the demo still needs, `notice` is told what it waits for, `reportPath` takes its report
 * @throws MrmTraceError usage, where the options of the demo do not fit; environment, when its engine cannot be installed
 */
export async function resolveTarget(
  command: readonly string[],
  demo: DemoOptions,
  seed: number,
  {
    workload,
    ...preparing
  }: Pick<DemoPreparation, "signal" | "notice" | "reportPath"> & { readonly workload?: Workload | undefined } = {},
): Promise<RunTarget> {
  if (command.length > 0) {
    const model = modelOf(command);
    const modelName = model?.name || basename(command[0] ?? "command");
    return { command, env: {}, engineObjects: [], modelName, model, isDemo: false };
  }
  requireDemo(demo);
  const made = await demoCommand({
    cacheDir: demoCacheDir(),
    params: demo.params,
    type: demo.type,
    seed,
    promptTokens: demo.prompt_tokens,
    contextTokens: demo.context_tokens,
    flashAttention: demo.flash_attention ? "on" : "off",
    sequences: demo.sequences,
    ...(workload === undefined ? limitOptions(demo) : workloadOptions(workload)),
    ...(demo.model === undefined ? {} : { model: demo.model }),
    ...(demo.threads === undefined ? {} : { threads: demo.threads }),
    ...preparing,
  });
  const model = asUser(invokingUser(), () => modelFacts(made.modelPath));
  return {
    command: made.command,
    env: made.env,
    // One CPU variant of many is mapped, long after the library that places tensors: it is probed when it is.
    engineObjects: made.objects.filter((path) => !path.includes("libggml-cpu-")),
    modelName: model?.name || `demo ${demo.params} ${demo.type}`,
    model,
    isDemo: true,
  };
}
