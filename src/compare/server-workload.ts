/** A llama-server under a streaming client: one unit starts it, serves a block of requests, and ends it. */
import { basename } from "node:path";
import type { EngineTimings } from "../client/engine-timings.ts";
import { commandAt, freePort, requirePortMark, untilReady } from "../client/server-port.ts";
import { type StreamedTokens, streamTokens } from "../client/token-stream.ts";
import { generalName } from "../engine/gguf/file.ts";
import { quantile } from "../statistics/quantile.ts";
import { asUser } from "../target/acting-user.ts";
import { findProgram } from "../target/held-command.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { engineThreads } from "./settings.ts";
import type { Workload } from "./workload.ts";

const PROMPT = "The quick brown fox jumps over the lazy dog and then sleeps a while in the warm sun";

/** One request warms it up, then requests follow each other until the time is over. */
async function serveBlock(url: string, options: ServerOptions, signal: AbortSignal): Promise<StreamedTokens[]> {
  // The same work in every unit, whatever the server keeps.
  const asked = { prompt: PROMPT, tokens: options.tokens, reuse: false, model: null };
  const request = { url, api: "llama-server" as const, ...asked, signal };
  await streamTokens(request);
  const answers: StreamedTokens[] = [];
  for (const began = performance.now(); performance.now() - began < options.block_ns / 1e6; ) {
    answers.push(await streamTokens(request));
  }
  return answers;
}

/** What the engine says of all answers together; null where it says nothing of one of them. */
function engineSum(
  answers: readonly StreamedTokens[],
): Pick<EngineTimings, "prompt_tokens" | "tokens" | "tokens_ms"> | null {
  const sum = { prompt_tokens: 0, tokens: 0, tokens_ms: 0 };
  for (const { engine } of answers) {
    if (engine === null) return null;
    sum.prompt_tokens += engine.prompt_tokens;
    sum.tokens += engine.tokens;
    sum.tokens_ms += engine.tokens_ms;
  }
  return answers.length === 0 ? null : sum;
}

export interface ServerOptions {
  readonly block_ns: number;
  /** Of one request. */
  readonly tokens: number;
}

/** @throws MrmTraceError usage, where the command has no place for the port; target, where there is no such program */
export function serverWorkload(command: readonly string[], options: ServerOptions): Workload {
  findProgram(command[0] ?? "");
  requirePortMark(command, "compare");
  const model = command.find((word) => word.endsWith(".gguf"));
  return {
    kind: "server",
    command,
    engineThreads: engineThreads(command),
    modelName:
      (model === undefined ? null : asUser(invokingUser(), () => generalName(model))) ??
      basename(command[0] ?? "server"),
    async next() {
      const port = await freePort();
      let answers: readonly StreamedTokens[] = [];
      return {
        command: commandAt(command, port),
        env: {},
        async drive(signal) {
          await untilReady(`http://127.0.0.1:${port}`, signal);
          answers = await serveBlock(`http://127.0.0.1:${port}`, options, signal);
        },
        figures() {
          const gaps = answers.flatMap(({ gaps_ms }) => gaps_ms);
          const total_ms = gaps.reduce((sum, gap) => sum + gap, 0);
          const engine = engineSum(answers);
          return {
            tokens_per_s: total_ms > 0 ? gaps.length / (total_ms / 1000) : null,
            engine_tokens_per_s:
              engine !== null && engine.tokens_ms > 0 ? engine.tokens / (engine.tokens_ms / 1000) : null,
            ttft_ms: quantile(
              answers.map(({ ttft_ms }) => ttft_ms),
              0.5,
            ),
            token_p50_ms: quantile(gaps, 0.5),
            token_p99_ms: quantile(gaps, 0.99),
            // The block has a length of its own: its wall time says nothing.
            wall_s: null,
          };
        },
        tokens() {
          const engine = engineSum(answers);
          return {
            streamed_tokens: answers.reduce((sum, { tokens }) => sum + tokens, 0),
            engine_tokens: engine?.tokens ?? null,
            engine_prompt_tokens: engine?.prompt_tokens ?? null,
          };
        },
      };
    },
  };
}
