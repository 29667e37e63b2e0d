/** The demo engine as a command to launch: real llama.cpp, a model of random weights. */
import { chownSync } from "node:fs";
import { join, resolve } from "node:path";
import { readGgufFile } from "../engine/gguf/file.ts";
import { RUNTIME } from "../runtime.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { formatBytes } from "../units.ts";
import { makeCacheDir } from "./cache.ts";
import { engineObjects, ensureDemoEngine, type Preparation } from "./install.ts";
import { type ModelSpec, modelBytes, modelName, writeModel } from "./model/write-model.ts";
import { DECODE_DEFAULTS, type DecodeOptions, runnerArguments } from "./options.ts";
import { TRACER_PID } from "./parent.ts";

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
 * Under sudo both belong to the invoking user, so that the child can run as that user.
 * @throws MrmTraceError environment, or what `signal` carries
 */
export async function demoCommand(options: DemoOptions): Promise<DemoCommand> {
  const engineDir = await ensureDemoEngine(options.cacheDir, options);
  const spec: ModelSpec = { params: options.params ?? "110m", type: options.type ?? "q8_0", seed: options.seed ?? 1 };
  const modelPath =
    options.model !== undefined ? resolve(options.model) : await ensureDemoModel(options.cacheDir, spec, options);
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
    objects: engineObjects(engineDir),
  };
}

/** The model of `spec` below `cacheDir`, written if it is missing or not whole. @throws MrmTraceError environment, or what `signal` carries */
export async function ensureDemoModel(
  cacheDir: string,
  spec: ModelSpec,
  { signal, notice }: Preparation = {},
): Promise<string> {
  const user = invokingUser();
  const folder = join(cacheDir, "models");
  const path = join(folder, `${modelName(spec).replaceAll(" ", "-")}.gguf`);
  if (isWhole(path, spec)) return path;
  makeCacheDir(folder, user);
  notice?.(`writing a model of random weights (${formatBytes(modelBytes(spec))}), once, to ${path}`);
  await writeModel(spec, path, signal ? { force: true, signal } : { force: true });
  if (user) chownSync(path, user.uid, user.gid);
  return path;
}

/** By name, length and directory: a hash of every byte would cost more than the start of the demo. */
function isWhole(path: string, spec: ModelSpec): boolean {
  const result = readGgufFile(path);
  if (!result.ok) return false;
  const { metadata, fileBytes } = result.directory;
  return metadata.get("general.name") === modelName(spec) && fileBytes === modelBytes(spec);
}
