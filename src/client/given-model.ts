/** A model that a server of Ollama is given before it is asked: made of a GGUF that its store has already. */
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { ask } from "./ask.ts";
import { parsedJson } from "./parsed-json.ts";

export const givenModelSchema = z.object({
  name: z.string().min(1),
  /** Of the GGUF, as its file in the store is named. */
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** Threads that compute it; null leaves that to Ollama. */
  threads: z.int().min(1).nullable(),
});
export type GivenModel = z.output<typeof givenModelSchema>;

const endSchema = z.object({ status: z.literal("success") });
const REASON_CHARS = 300;

/** @throws MrmTraceError target, with what the server says, where it makes no model of the file */
export async function giveModel(
  url: string,
  { name, digest, threads }: GivenModel,
  signal: AbortSignal,
): Promise<void> {
  const parameters = threads === null ? {} : { parameters: { num_thread: threads } };
  const body = { model: name, files: { "model.gguf": digest }, stream: false, ...parameters };
  const response = await ask(`${url}/api/create`, signal, body);
  const said = await response.text();
  if (response.ok && endSchema.safeParse(parsedJson(said)).success) return;
  const hint = "check that this Ollama knows the architecture of the model: ollama create NAME -f MODELFILE";
  const reason = said.trim().slice(0, REASON_CHARS);
  throw new MrmTraceError("target", `the server answered ${response.status} to /api/create: ${reason}`, hint);
}
