/** A server under streaming clients: one unit starts it, serves a block of requests, and ends it. */
import { basename } from "node:path";
import { firstModel } from "../client/drive.ts";
import { commandAt, freePort, requirePortMark, untilReady } from "../client/server-port.ts";
import type { TokenRequest } from "../client/token-stream.ts";
import type { ServerApi } from "../config/schema.ts";
import { generalName } from "../engine/gguf/file.ts";
import { asUser } from "../target/acting-user.ts";
import { findProgram } from "../target/held-command.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { type Load, type ServedBlock, serveBlock } from "./served-block.ts";
import { figuresByClient, servedFigures, servedTokens } from "./served-figures.ts";
import { engineThreads } from "./settings.ts";
import type { Workload } from "./workload.ts";

const PROMPT = "The quick brown fox jumps over the lazy dog and then sleeps a while in the warm sun";

export interface ServerOptions extends Load {
  readonly api: ServerApi;
  /** Of one request. */
  readonly tokens: number;
}

/** What every client asks. */
async function requestTo(url: string, { api, tokens }: ServerOptions, signal: AbortSignal): Promise<TokenRequest> {
  const model = api === "llama-server" ? null : await firstModel(url, signal);
  // The same work in every unit, whatever the server keeps, where that can be told.
  return { url, api, prompt: PROMPT, tokens, reuse: false, model, signal };
}

/** @throws MrmTraceError usage, where the command has no place for the port; target, where there is no such program */
export function serverWorkload(command: readonly string[], options: ServerOptions): Workload {
  findProgram(command[0] ?? "");
  requirePortMark(command, "compare");
  const model = command.find((word) => word.endsWith(".gguf"));
  return {
    kind: "server",
    command,
    load: options,
    engineThreads: engineThreads(command),
    modelName:
      (model === undefined ? null : asUser(invokingUser(), () => generalName(model))) ??
      basename(command[0] ?? "server"),
    async next() {
      const port = await freePort();
      let block: ServedBlock = { clients: [], began_ns: 0n, over_ns: 0n };
      return {
        command: commandAt(command, port),
        env: {},
        async drive(signal) {
          const url = `http://127.0.0.1:${port}`;
          await untilReady(url, signal);
          block = await serveBlock(await requestTo(url, options, signal), options);
        },
        figures: () => servedFigures(block),
        tokens: () => servedTokens(block),
        clients: () => figuresByClient(block),
        answers: () => block.clients,
      };
    },
  };
}
