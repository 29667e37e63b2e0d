/** A llama-server under a streaming client: one unit starts it, serves a block of requests, and ends it. */
import { createServer } from "node:net";
import { basename } from "node:path";
import { generalName } from "../engine/gguf/file.ts";
import { MrmTraceError } from "../errors.ts";
import { quantile } from "../statistics/quantile.ts";
import { asUser } from "../target/acting-user.ts";
import { findProgram } from "../target/held-command.ts";
import { invokingUser } from "../target/invoking-user.ts";
import type { EngineTimings } from "./engine-timings.ts";
import { engineThreads } from "./settings.ts";
import { type StreamedTokens, streamTokens } from "./token-stream.ts";
import type { Workload } from "./workload.ts";

/** What the command line of a server holds in place of its port. */
export const PORT_MARK = "{port}";
/** A model that is read from a slow disk takes minutes. */
const READY_MS = 300_000;
const PROMPT = "The quick brown fox jumps over the lazy dog and then sleeps a while in the warm sun";

/** A port of the loopback interface that nobody listens on now. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

async function ready(url: string, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  while (!signal.aborted) {
    const asked = fetch(`${url}/health`, { keepalive: false, headers: { connection: "close" }, signal });
    const health = await asked.catch(() => null);
    // Whatever it says beside its status is not read.
    await health?.body?.cancel();
    if (health?.ok) return;
    if (performance.now() - began > READY_MS) {
      const hint = `let the command listen on 127.0.0.1 and the port ${PORT_MARK}`;
      throw new MrmTraceError("target", `no server answered on ${url} in ${READY_MS / 1000} s`, hint);
    }
    await Bun.sleep(50);
  }
  signal.throwIfAborted();
}

/** One request warms it up, then requests follow each other until the time is over. */
async function serveBlock(url: string, options: ServerOptions, signal: AbortSignal): Promise<StreamedTokens[]> {
  const request = { url, prompt: PROMPT, tokens: options.tokens, signal };
  await streamTokens(request);
  const answers: StreamedTokens[] = [];
  for (const began = performance.now(); performance.now() - began < options.block_ns / 1e6; ) {
    answers.push(await streamTokens(request));
  }
  return answers;
}

/** What the engine says of all answers together; null where it says nothing of one of them. */
function engineSum(answers: readonly StreamedTokens[]): EngineTimings | null {
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
  if (!command.some((word) => word.includes(PORT_MARK))) {
    throw new MrmTraceError(
      "usage",
      `--serve needs ${PORT_MARK} in the command, but received "${command.join(" ")}"`,
      `put it in, such as: mrm-trace compare --serve 30s -- llama-server -m model.gguf --host 127.0.0.1 --port ${PORT_MARK}`,
    );
  }
  const model = command.find((word) => word.endsWith(".gguf"));
  return {
    kind: "server",
    command,
    engineThreads: engineThreads(command),
    modelName:
      (model === undefined ? null : asUser(invokingUser(), () => generalName(model))) ??
      basename(command[0] ?? "server"),
    async next() {
      const port = String(await freePort());
      let answers: readonly StreamedTokens[] = [];
      return {
        command: command.map((word) => word.replaceAll(PORT_MARK, port)),
        env: {},
        async drive(signal) {
          await ready(`http://127.0.0.1:${port}`, signal);
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
