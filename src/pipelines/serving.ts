/** A run of which we are the client: the server at a port of its own, what it is asked, and that it ends when all is asked. */
import type { Prompts } from "../client/drive-messages.ts";
import type { GivenModel } from "../client/given-model.ts";
import { commandAt, freePort, requirePortMark } from "../client/server-port.ts";
import { type ClientCollector, createClientCollector } from "../collect/client/client-collector.ts";
import type { Collectors } from "../collect/collectors.ts";
import type { ServeOptions, ServerApi } from "../config/schema.ts";
import { readPrompts } from "../demo/prompt-file.ts";
import { MrmTraceError, reasonText } from "../errors.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";

/** What the client asks. */
export interface ServeRequest {
  readonly api: ServerApi;
  readonly clients: number;
  /** Of each answer. */
  readonly tokens: number;
  readonly prompts: Prompts;
  /** A model that the server is given first; missing where it has its own. */
  readonly model?: GivenModel | undefined;
  /** The file from which they are; missing for ours and for those of an experiment. */
  readonly prompt_file?: string | undefined;
  /** For how long requests are begun, in ns; null where `requests` says how many there are. */
  readonly duration_ns: number | null;
  readonly requests: number | null;
  /** For how long the server may say nothing while it is asked. */
  readonly silence_ns: number;
}

/** Questions behind one beginning, as requests to an assistant have it: a server may take it over from one to the next. */
const BEGINNING =
  "You are an assistant that answers in short sentences, says when it is not sure, and never repeats a question. ";
const QUESTIONS = 16;
/** Prompts that are handed to the client at most; they are asked in turn. */
const MOST_PROMPTS = 4096;

/** The prompts of a file, read as the user behind sudo. @throws MrmTraceError usage */
function promptsOf(file: string | undefined): string[] {
  if (file === undefined) {
    return Array.from({ length: QUESTIONS }, (_, i) => `${BEGINNING}Question ${i + 1}: what follows ${i * i}?`);
  }
  try {
    return asUser(invokingUser(), () => readPrompts(file, [])).slice(0, MOST_PROMPTS);
  } catch (cause) {
    const hint = "give a file with one prompt per line, or JSON lines with `prompt` or `text`";
    throw new MrmTraceError("usage", `--prompts ${file}: ${reasonText(cause)}`, hint, { cause });
  }
}

/** The options of the command line as what is asked. @throws MrmTraceError usage, where there are no prompts in the file */
export function serveRequest({
  serve,
  api,
  clients,
  request_tokens,
  request_timeout,
  prompts,
}: ServeOptions & { serve: number }): ServeRequest {
  return {
    api,
    clients,
    tokens: request_tokens,
    prompts: { texts: promptsOf(prompts), fit: null },
    prompt_file: prompts,
    duration_ns: serve,
    requests: null,
    silence_ns: request_timeout,
  };
}

/** The options of the command line that ask for it. */
export function optionsOf({ api, clients, tokens, prompt_file, duration_ns, silence_ns }: ServeRequest): ServeOptions {
  return {
    serve: duration_ns ?? undefined,
    api,
    clients,
    request_tokens: tokens,
    request_timeout: silence_ns,
    prompts: prompt_file,
  };
}

export interface Serving {
  /** The command with its port. */
  readonly command: readonly string[];
  readonly client: ClientCollector;
  /** The collectors with the client, which is asked for what it has before all others. */
  with(collectors: Collectors): Collectors;
}

/** @throws MrmTraceError usage, where the command has no place for the port */
export async function openServing(request: ServeRequest, command: readonly string[]): Promise<Serving> {
  requirePortMark(command, "run");
  const port = await freePort();
  const client = createClientCollector({
    url: `http://127.0.0.1:${port}`,
    api: request.api,
    clients: request.clients,
    tokens: request.tokens,
    prompts: request.prompts,
    model: request.model,
    duration_ms: request.duration_ns === null ? null : request.duration_ns / 1e6,
    requests: request.requests,
    silence_ms: request.silence_ns / 1e6,
  });
  return {
    command: commandAt(command, port),
    client,
    with: (collectors) => ({ ...collectors, all: [client, ...collectors.all] }),
  };
}
