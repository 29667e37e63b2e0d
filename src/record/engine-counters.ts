/** Tokens as the engine itself counts them: its server's counters at the begin and at the end of a recording. */
import { loopbackUrl } from "../config/loopback-url.ts";
import { type ServerCounters, serverCounters } from "../engine/llama-cpp/server-counters.ts";
import { MrmTraceError } from "../errors.ts";
import type { EngineCounts } from "../schema/run-json.ts";
import { loopbackText } from "./loopback-text.ts";

const HINT =
  "start llama-server with --metrics, and give --engine-metrics its address, as http://127.0.0.1:8080/metrics";

/** The counters now. @throws MrmTraceError target, where they cannot be had */
async function read(address: string): Promise<ServerCounters> {
  const url = loopbackUrl(address);
  if (url === null) throw new MrmTraceError("usage", `${address} is no address of this machine`, HINT);
  const counters = serverCounters(await loopbackText(url, HINT));
  if (counters === null) throw new MrmTraceError("target", `${address} tells no counters of llama.cpp`, HINT);
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
