/** Where a server that we launch will listen, and when it does. */
import { createServer } from "node:net";
import { MrmTraceError } from "../errors.ts";
import { ask } from "./ask.ts";

/** What the command line of a server holds in place of its port. */
export const PORT_MARK = "{port}";
/** A model that is read from a slow disk takes minutes. */
const READY_MS = 300_000;
const LOOK_MS = 50;
/** How long one look may take: a server that takes connections and answers none is looked at again. */
const ANSWER_MS = 10_000;
const NOT_FOUND = 404;

/** A port of the loopback interface that nobody listens on now. */
export function freePort(): Promise<number> {
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

/** @param verb the command that was given, for the hint @throws MrmTraceError usage, where the command has no place for the port */
export function requirePortMark(command: readonly string[], verb: "compare" | "run"): void {
  if (command.some((word) => word.includes(PORT_MARK))) return;
  throw new MrmTraceError(
    "usage",
    `--serve needs ${PORT_MARK} in the command, but received "${command.join(" ")}"`,
    `put it in, such as: mrm-trace ${verb} --serve 30s -- llama-server -m model.gguf --host 127.0.0.1 --port ${PORT_MARK}`,
  );
}

/** The command with a port in place of its mark. */
export function commandAt(command: readonly string[], port: number): string[] {
  return command.map((word) => word.replaceAll(PORT_MARK, String(port)));
}

/**
 * Whether a server answers so that it can serve, 200: at /health, or where it has no such address, at its list of models.
 * @returns the status of its answer; null where there was none
 */
async function readiness(url: string, signal: AbortSignal): Promise<number | null> {
  for (const path of ["/health", "/v1/models"]) {
    const answer = await ask(`${url}${path}`, signal).catch(() => null);
    // Whatever it says beside its status is not read.
    await answer?.body?.cancel();
    if (answer?.status !== NOT_FOUND) return answer?.status ?? null;
  }
  return NOT_FOUND;
}

/**
 * Waits until a server says that it can serve.
 * @throws MrmTraceError target, where none does in time; what `signal` carries
 */
export async function untilReady(url: string, signal: AbortSignal, most_ms = READY_MS): Promise<void> {
  const began = performance.now();
  while (!signal.aborted) {
    const look = AbortSignal.any([signal, AbortSignal.timeout(Math.min(ANSWER_MS, most_ms))]);
    const status = await readiness(url, look);
    if (status !== null && status >= 200 && status < 300) return;
    if (performance.now() - began > most_ms) {
      const hint = `let the command listen on 127.0.0.1 and the port ${PORT_MARK}`;
      const limit = `in ${most_ms / 1000} s`;
      const what =
        status === null
          ? `no server answered on ${url} ${limit}`
          : `the server on ${url} was not ready ${limit}: it said HTTP ${status}`;
      throw new MrmTraceError("target", what, hint);
    }
    await Bun.sleep(LOOK_MS);
  }
  signal.throwIfAborted();
}
