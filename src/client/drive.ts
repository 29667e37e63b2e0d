/** Our client: so many requests at once, until its time is over or all were asked. */
import { z } from "zod";
import { ask } from "./ask.ts";
import type { Drive, DriveMessage } from "./drive-messages.ts";
import { giveModel } from "./given-model.ts";
import { promptSource } from "./prompts.ts";
import { answerNumbers } from "./request-row.ts";
import { untilReady } from "./server-port.ts";
import { watchSilence } from "./silence.ts";
import { type Exchange, exchange } from "./token-stream.ts";

/** What a server that refuses is left alone for before it is asked again. */
const PAUSE_MS = 100;
const OK = 200;

/** Why a request is given up: the run ends, or the server says nothing. */
type GivenUp = "cut" | "silent" | null;

function statusOf({ is_whole, http_status }: Exchange, givenUp: GivenUp) {
  if (is_whole) return "answered";
  if (givenUp === "silent") return givenUp;
  if (http_status === null) return givenUp ?? "failed";
  return http_status === OK ? "cut" : "refused";
}

/** What is told of a request that has ended; no text of it. */
function endedMessage(request_id: number, ended: Exchange, givenUp: GivenUp): DriveMessage {
  return {
    says: "ended",
    request_id,
    request: ended.name,
    status: statusOf(ended, givenUp),
    http_status: ended.http_status,
    sent_ns: ended.sent_ns.toString(),
    first_token_ns: ended.first_token_ns?.toString() ?? null,
    last_token_ns: ended.last_token_ns?.toString() ?? null,
    end_ns: ended.end_ns.toString(),
    ...answerNumbers(ended),
  };
}

const modelsSchema = z.object({ data: z.array(z.object({ id: z.string().min(1) })) });

/** The name of the model that a server has, the first of several; null where it tells none, which some take for theirs. */
export async function firstModel(url: string, signal: AbortSignal): Promise<string | null> {
  const response = await ask(`${url}/v1/models`, signal);
  const listed = response.ok ? modelsSchema.safeParse(await response.json().catch(() => null)).data : undefined;
  return listed?.data[0]?.id ?? null;
}

/** The name by which the model is asked; null where none is needed. */
async function modelName({ url, api, model }: Drive, signal: AbortSignal): Promise<string | null> {
  if (model !== undefined) {
    await giveModel(url, model, signal);
    return model.name;
  }
  return api === "llama-server" ? null : await firstModel(url, signal);
}

/**
 * Waits for the server and asks it; a request that is under way when the time is over comes to its end. A server that says nothing for
 * too long is not asked again, and what it was asked is given up.
 * @param tell is told of each request when it is sent and when it has ended
 * @throws MrmTraceError target, where no server answers in time, or does not tell its tokens, or does not take the model, or says nothing
 * before all was asked; what the signal carries, where it comes before the first request
 */
export async function drive(
  settings: Drive,
  tell: (message: DriveMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  const { url, api, clients, tokens, duration_ms, requests, silence_ms } = settings;
  await untilReady(url, signal);
  using silence = watchSilence(silence_ms);
  const { heard } = silence;
  const asked = AbortSignal.any([signal, silence.signal]);
  const model = await modelName(settings, asked);
  heard();
  const promptAt = await promptSource(settings, asked);
  const began = performance.now();
  let sent = 0;
  const isLeft = (): boolean => {
    if (signal.aborted || (requests !== null && sent >= requests)) return false;
    return duration_ms === null || performance.now() - began < duration_ms;
  };
  const givenUp = (): GivenUp => {
    if (silence.signal.aborted) return "silent";
    return signal.aborted ? "cut" : null;
  };
  const client = async (): Promise<void> => {
    while (!silence.signal.aborted && isLeft()) {
      const prompt = promptAt(sent);
      const request_id = ++sent;
      tell({ says: "sent", requests: sent });
      heard();
      const ended = await exchange({ url, api, prompt, tokens, model, reuse: true, signal: asked, heard });
      tell(endedMessage(request_id, ended, givenUp()));
      if (ended.failure !== null) await Bun.sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  if (isLeft()) silence.signal.throwIfAborted();
}
