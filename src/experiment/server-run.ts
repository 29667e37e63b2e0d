/** A run of an experiment in a real server, of which we are the client. */
import { PORT_MARK } from "../client/server-port.ts";
import type { DemoOptions } from "../config/schema.ts";
import { readPrompts } from "../demo/prompt-file.ts";
import { modelFacts } from "../engine/gguf/model-facts.ts";
import type { ServeRequest } from "../pipelines/serving.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { drawnText, ollamaCommand, ollamaStore, storedModel } from "./ollama-run.ts";
import type { OneRunRequest } from "./run-request.ts";
import type { Cell } from "./sweep.ts";
import { vllmCommand, vocabularyOf } from "./vllm-run.ts";

export const SERVER_PROGRAM = "llama-server";
/** For how long a server may say nothing: a long prompt on a slow machine, in each sequence at once, takes minutes. */
const SILENCE_NS = 600e9;
/** Every vocabulary has a token for each byte. */
const LEAST_VOCABULARY = 256;

/** The server of a cell and how many tokens its model knows; null where the demo's engine runs it. */
export function serverOf(
  { model, context_length, batch_size }: Pick<Cell, "model" | "context_length" | "batch_size">,
  demo: Pick<DemoOptions, "threads" | "flash_attention">,
): OneRunRequest["server"] {
  const { engine, path } = model;
  if (engine === "ollama" && path !== undefined) {
    const command = ollamaCommand({ context_length, batch_size }, demo);
    return { api: "ollama", command, gguf: path, vocabulary: null };
  }
  if (engine === "vllm" && path !== undefined) {
    const vocabulary = asUser(invokingUser(), () => vocabularyOf(path)) ?? LEAST_VOCABULARY;
    const command = asUser(invokingUser(), () => vllmCommand(model, { context_length, batch_size }));
    return { api: "openai", command, gguf: path, vocabulary };
  }
  if (engine !== "llama-server" || path === undefined) return null;
  const facts = asUser(invokingUser(), () => modelFacts(path));
  const command = [SERVER_PROGRAM, "-m", path, "--host", "127.0.0.1", "--port", PORT_MARK];
  // Its context is that of all slots together.
  command.push("-c", String(context_length * batch_size), "-np", String(batch_size));
  command.push("-fa", demo.flash_attention ? "on" : "off");
  if (demo.threads !== undefined) command.push("-t", String(demo.threads));
  return { api: "llama-server", command, gguf: path, vocabulary: facts?.vocabulary ?? LEAST_VOCABULARY };
}

/** The prompts of a file. @throws Error where it has none */
function textsOf({ prompt_file, prompt_categories, prompts }: OneRunRequest["workload"]): string[] | null {
  if (prompt_file === null) return null;
  return asUser(invokingUser(), () => readPrompts(prompt_file, prompt_categories)).slice(0, prompts);
}

/**
 * What the server of a run is asked: each prompt once, as many at a time as there are sequences.
 * @throws Error where the file of prompts has none, or a model cannot be put into Ollama's store
 */
export function serveOf({ workload, demo, options, server }: OneRunRequest): ServeRequest | null {
  if (server === null) return null;
  const { prompt_tokens: tokens, sequences, threads } = demo;
  const { is_prompt_exact: is_exact, prompts: requests } = workload;
  const { api, gguf, vocabulary } = server;
  const clients = Math.min(sequences, requests);
  const asked = {
    ...{ api, clients, tokens: workload.output_tokens },
    ...{ duration_ns: null, requests, silence_ns: SILENCE_NS },
  };
  const texts = textsOf(workload);
  if (vocabulary === null) {
    // It takes texts alone, and does not say of how many tokens one is.
    const drawn = (): string[] => Array.from({ length: requests }, (_, i) => drawnText(tokens, options.seed, i));
    const model = asUser(invokingUser(), () => storedModel(gguf, ollamaStore(), threads ?? null));
    return { ...asked, model, prompts: { texts: texts ?? drawn(), fit: null } };
  }
  if (texts !== null) return { ...asked, prompts: { texts, fit: { tokens, is_exact } } };
  return { ...asked, prompts: { drawn: { tokens, vocabulary, seed: options.seed } } };
}
