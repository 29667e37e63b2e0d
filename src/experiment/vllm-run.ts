/** How the server of vLLM is started for a run of an experiment. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { parsedJson } from "../client/parsed-json.ts";
import { PORT_MARK } from "../client/server-port.ts";
import type { ModelConfig } from "../config/experiment-schema.ts";
import { readRegularText } from "../run-directory/regular-file.ts";
import { findProgram } from "../target/held-command.ts";
import { packageFolders } from "../target/python-packages.ts";
import type { Cell } from "./sweep.ts";

export const VLLM_PROGRAM = "python3";
/** The distribution for CPUs has no `vllm serve`, as that asks for another one's metadata. */
const MODULE = "vllm.entrypoints.openai.api_server";
/** Nothing is asked of a hub, and nothing is reported. */
const OFFLINE = ["HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1"];
const TOKENIZERS = ["tokenizer.json", "tokenizer.model", "tokenizer_config.json"];
const FACTS = "config.json";
const MOST_BYTES = 16 << 20;

const factsSchema = z.object({ vocab_size: z.int().min(1) });

/** How many tokens the model of a folder knows; null where its config.json does not say. */
export function vocabularyOf(folder: string): number | null {
  const path = join(folder, FACTS);
  try {
    return factsSchema.safeParse(parsedJson(readRegularText(path, MOST_BYTES))).data?.vocab_size ?? null;
  } catch {
    // It is not there, no such file, or not ours to read.
    return null;
  }
}

/** Why an experiment cannot run a folder in vLLM; null where it can. */
export function vllmProblem(
  folder: string | undefined,
): { readonly key: "path" | "engine"; readonly message: string; readonly isEnvironment: boolean } | null {
  if (folder === undefined) return { key: "engine", message: "a vllm model needs a path", isEnvironment: false };
  if (vocabularyOf(folder) === null) {
    const message = `there is no folder with a ${FACTS} that says vocab_size in ${process.cwd()}`;
    return { key: "path", message, isEnvironment: false };
  }
  let folders: string[] = [];
  try {
    folders = packageFolders(findProgram(VLLM_PROGRAM), "vllm");
  } catch {
    // There is no Python: it has no vLLM either.
  }
  if (folders.length > 0) return null;
  return { key: "engine", message: `the ${VLLM_PROGRAM} on PATH has no vllm`, isEnvironment: true };
}

/** The command of a cell: as many sequences at once as its batch size, each with its context. */
export function vllmCommand(
  { path = "", dtype }: Pick<ModelConfig, "path" | "dtype">,
  { context_length, batch_size }: Pick<Cell, "context_length" | "batch_size">,
): string[] {
  const command = ["env", ...OFFLINE, VLLM_PROGRAM, "-m", MODULE, "--model", path];
  command.push("--host", "127.0.0.1", "--port", PORT_MARK, "--enforce-eager");
  command.push("--max-model-len", String(context_length), "--max-num-seqs", String(batch_size));
  if (dtype !== undefined) command.push("--dtype", dtype);
  // Prompts are tokens then, and answers are counted.
  if (!TOKENIZERS.some((name) => existsSync(join(path, name)))) command.push("--skip-tokenizer-init");
  return command;
}
