/** A run of an experiment in a real server, of which we are the client. */
import { PORT_MARK } from "../client/server-port.ts";
import type { DemoOptions } from "../config/schema.ts";
import { readPrompts } from "../demo/prompt-file.ts";
import { modelFacts } from "../engine/gguf/model-facts.ts";
import type { ServeRequest } from "../pipelines/serving.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import type { OneRunRequest } from "./run-request.ts";
import type { Cell } from "./sweep.ts";

export const SERVER_PROGRAM = "llama-server";
/** Every vocabulary has a token for each byte. */
const LEAST_VOCABULARY = 256;

/** The server of a cell and how many tokens its model knows; null where the demo's engine runs it. */
export function serverOf(
  { model, context_length, batch_size }: Pick<Cell, "model" | "context_length" | "batch_size">,
  demo: Pick<DemoOptions, "threads" | "flash_attention">,
): OneRunRequest["server"] {
  const { engine, path } = model;
  if (engine !== "llama-server" || path === undefined) return null;
  const facts = asUser(invokingUser(), () => modelFacts(path));
  const command = [SERVER_PROGRAM, "-m", path, "--host", "127.0.0.1", "--port", PORT_MARK];
  // Its context is that of all slots together.
  command.push("-c", String(context_length * batch_size), "-np", String(batch_size));
  command.push("-fa", demo.flash_attention ? "on" : "off");
  if (demo.threads !== undefined) command.push("-t", String(demo.threads));
  return { command, vocabulary: facts?.vocabulary ?? LEAST_VOCABULARY };
}

/**
 * What the server of a run is asked: each prompt once, as many at a time as there are sequences.
 * @throws Error where the file of prompts has none
 */
export function serveOf({ workload, demo, options, server }: OneRunRequest): ServeRequest | null {
  if (server === null) return null;
  const { prompt_tokens: tokens, sequences } = demo;
  const { prompt_file, prompt_categories, is_prompt_exact: is_exact, prompts: requests } = workload;
  const asked = {
    api: "llama-server" as const,
    clients: Math.min(sequences, requests),
    tokens: workload.output_tokens,
    duration_ns: null,
    requests,
  };
  if (prompt_file === null) {
    return { ...asked, prompts: { drawn: { tokens, vocabulary: server.vocabulary, seed: options.seed } } };
  }
  const texts = asUser(invokingUser(), () => readPrompts(prompt_file, prompt_categories)).slice(0, requests);
  return { ...asked, prompts: { texts, fit: { tokens, is_exact } } };
}
