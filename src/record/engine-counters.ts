/** Tokens as the engine itself counts them: its server's counters at the begin and at the end of a recording. */
import { loopbackUrl } from "../config/loopback-url.ts";
import { type ServerCounters, serverCounters } from "../engine/server-counters.ts";
import { MrmTraceError } from "../errors.ts";
import type { EngineCounts } from "../schema/run-json.ts";
import { loopbackText } from "./loopback-text.ts";

const HINT =
  "start llama-server with --metrics, or vLLM's server, and give --engine-metrics its address, as http://127.0.0.1:8080/metrics";

/** The counters now. @throws MrmTraceError target, where they cannot be had */
async function read(address: string): Promise<ServerCounters> {
  const url = loopbackUrl(address);
  if (url === null) throw new MrmTraceError("usage", `${address} is no address of this machine`, HINT);
  const counters = serverCounters(await loopbackText(url, HINT));
  if (counters === null) throw new MrmTraceError("target", `${address} tells no counters of llama.cpp or vLLM`, HINT);
  return counters;
}

/** The counters, or why there are none. */
async function reading(address: string): Promise<ServerCounters | MrmTraceError> {
  try {
    return await read(address);
  } catch (error) {
    if (error instanceof MrmTraceError) return error;
    throw error;
  }
}

/** True where nobody listens. @throws MrmTraceError usage, where it is no address of this machine */
async function isSilent(address: string): Promise<boolean> {
  const now = await reading(address);
  if (!(now instanceof MrmTraceError)) return false;
  if (now.code === "usage") throw now;
  return /cannot be asked/.test(now.message);
}

/** What was counted between two readings; numbers that cannot be told are null, with the reason. */
export function countsBetween(
  first: ServerCounters | MrmTraceError,
  last: ServerCounters | MrmTraceError,
): EngineCounts {
  const unknown = (why: string): EngineCounts => ({
    ...{ prompt_tokens: null, generated_tokens: null, generated_tokens_per_s: null, requests_under_way: null },
    why,
  });
  if (first instanceof MrmTraceError) return unknown(`at the begin: ${first.message}`);
  if (last instanceof MrmTraceError) return unknown(`at the end: ${last.message}`);
  const [prompt, generated] = [
    last.prompt_tokens - first.prompt_tokens,
    last.generated_tokens - first.generated_tokens,
  ];
  const generated_s = last.generated_s - first.generated_s;
  if (prompt < 0 || generated < 0 || generated_s < 0) return unknown("the counters went back: the server began anew");
  return {
    prompt_tokens: prompt,
    generated_tokens: generated,
    generated_tokens_per_s: generated_s > 0 ? generated / generated_s : null,
    requests_under_way: first.requests_under_way + last.requests_under_way,
    why: null,
  };
}

export interface EngineCounters {
  /** Reads them at the begin; never throws. */
  begin(): Promise<void>;
  /** Reads them at the end; never throws. */
  end(): Promise<void>;
  /** What was counted between, as far as was read by now. */
  counts(): EngineCounts;
}

/** Of a server that has counted nothing. */
const NOTHING: ServerCounters = { prompt_tokens: 0, generated_tokens: 0, generated_s: 0, requests_under_way: 0 };
const LOOK_MS = 200;

/** True for what a server says that will not change: that it has no such counters. Loading, it answers with 503. */
function isFinal({ message }: MrmTraceError): boolean {
  return /status (?!503)\d|tells no counters/.test(message);
}

/**
 * The counters of a server that is about to be launched, and so counts from nothing.
 * @param notice told once the server is up and tells none
 * @throws MrmTraceError usage, where something answers there already
 */
export async function countersOfLaunch(address: string, notice: (line: string) => void): Promise<EngineCounters> {
  if (!(await isSilent(address))) {
    const hint = "give the command another port, or trace what runs: mrm-trace attach PID --engine-metrics URL";
    throw new MrmTraceError("usage", `something answers at ${address} before the command was launched`, hint);
  }
  let last: ServerCounters | MrmTraceError = new MrmTraceError("target", "the server did not answer in time", HINT);
  let isOver = false;
  /** Waits until the server is up, to say early what would be told at the end. */
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const now = await reading(address);
      if (!(now instanceof MrmTraceError)) return;
      if (isFinal(now)) return notice(`--engine-metrics: ${now.message} (${now.hint})`);
      await Bun.sleep(LOOK_MS);
    }
  };
  return {
    async begin() {
      watch();
    },
    async end() {
      isOver = true;
      // Asked before a signal is passed on, and again at the end: by then the server may be gone.
      if (last instanceof MrmTraceError) last = await reading(address);
    },
    counts: () => countsBetween(NOTHING, last),
  };
}

/** Looks whether the counters can be read. @throws MrmTraceError usage, target */
export async function openEngineCounters(address: string): Promise<EngineCounters> {
  await read(address);
  const unread = new MrmTraceError("target", "the server did not answer in time", HINT);
  let first: ServerCounters | MrmTraceError = unread;
  let last: ServerCounters | MrmTraceError = unread;
  return {
    async begin() {
      first = await reading(address);
    },
    async end() {
      last = await reading(address);
    },
    counts: () => countsBetween(first, last),
  };
}
