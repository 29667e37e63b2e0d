import { afterAll, describe, expect, test } from "bun:test";
import { drive } from "../../../src/client/drive.ts";
import { type Drive, type DriveMessage, driveMessageSchema } from "../../../src/client/drive-messages.ts";
import { untilReady } from "../../../src/client/server-port.ts";
import { ONE_REQUEST } from "../../fixtures/one-request.ts";

const servers: { stop: (force?: boolean) => unknown }[] = [];
afterAll(() => {
  for (const server of servers) server.stop(true);
});

const TOKEN = 'data: {"content":"a","stop":false}\n\n';
const END = 'data: {"content":"","stop":true,"id_slot":0,"tokens_evaluated":3}\n\n';
const hang = (): Promise<Response> => new Promise(() => {});

function serverOf(answer: (path: string) => Response | Promise<Response>): string {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request) => answer(new URL(request.url).pathname),
  });
  servers.push(server);
  return `http://127.0.0.1:${server.port}`;
}

/** What it sends comes in parts, each behind a rest; it then ends, or stays open. */
function parts(texts: readonly string[], rest_ms: number, isOpen: boolean): Response {
  const body = new ReadableStream({
    async start(controller) {
      for (const text of texts) {
        controller.enqueue(new TextEncoder().encode(text));
        await Bun.sleep(rest_ms);
      }
      if (!isOpen) controller.close();
    },
  });
  return new Response(body);
}

const SETTINGS: Omit<Drive, "url"> = { ...ONE_REQUEST, silence_ms: 300 };

async function driven(settings: Drive) {
  const told: DriveMessage[] = [];
  const began = performance.now();
  const failure = await drive(settings, (message) => told.push(message), AbortSignal.timeout(20_000)).then(
    () => null,
    (error: Error) => error.message,
  );
  const read = told.map((message) => driveMessageSchema.parse(JSON.parse(JSON.stringify(message))));
  const ended = read.flatMap((one) => (one.says === "ended" ? [one] : []));
  return { failure, ended, wall_ms: performance.now() - began };
}

const ready = (answer: () => Response | Promise<Response>) => (path: string) =>
  path === "/health" ? new Response("{}") : answer();

describe("a server that says nothing", () => {
  test.each([
    ["accepts a request and never answers", hang, null, 0],
    ["sends the head of an answer, and no event", () => parts([": hello\n\n"], 0, true), 200, 0],
    ["stops in the midst of a stream", () => parts([TOKEN], 0, true), 200, 1],
    ["sends words without an event for ever", () => parts(Array(1000).fill(":\n\n"), 20, true), 200, 0],
  ] as const)("is given up, with what it was asked: one that %s", async (_, answer, http_status, streamed_tokens) => {
    const url = serverOf(ready(answer));
    const { failure, ended, wall_ms } = await driven({ ...SETTINGS, url, clients: 2, requests: 5 });
    expect(failure).toBe("the server said nothing for 0.3 s");
    expect(ended).toMatchObject([1, 2].map(() => ({ status: "silent", http_status, streamed_tokens })));
    for (const { sent_ns, end_ns } of ended) expect(Number(end_ns - sent_ns)).toBeGreaterThanOrEqual(250e6);
    expect(wall_ms).toBeLessThan(5000);
  });

  test("is no failure of the client once its time is over", async () => {
    let asked = 0;
    const url = serverOf(ready(() => (asked++ === 0 ? new Response(TOKEN + END) : hang())));
    const { failure, ended } = await driven({ ...SETTINGS, url, requests: null, duration_ms: 100 });
    expect([failure, ended.map(({ status }) => status)]).toEqual([null, ["answered", "silent"]]);
  });

  test("is not one that is slow, or has others to answer first", async () => {
    const slow = Array.from({ length: 4 }, () => TOKEN);
    let asked = 0;
    const first = Promise.withResolvers<void>();
    const url = serverOf(
      ready(async () => {
        if (asked++ > 0) {
          await first.promise;
          return new Response(END);
        }
        setTimeout(first.resolve, 700);
        return parts([...slow, END], 150, false);
      }),
    );
    const { failure, ended } = await driven({ ...SETTINGS, url, clients: 2, requests: 2 });
    expect([failure, ended.map(({ status }) => status)]).toEqual([null, ["answered", "answered"]]);
  });

  test("about its models is not waited for", async () => {
    const url = serverOf((path) => (path === "/health" ? new Response("{}") : hang()));
    const { failure, ended } = await driven({ ...SETTINGS, api: "openai", url });
    expect([failure, ended]).toEqual(["the server said nothing for 0.3 s", []]);
  });
});

describe("a server that is never ready", () => {
  const unready = (url: string): Promise<string> =>
    untilReady(url, AbortSignal.timeout(20_000), 300).then(
      () => "ready",
      (error: Error) => error.message,
    );

  test("is given up though it takes connections", async () => {
    const url = serverOf(hang);
    expect(await unready(url)).toBe(`no server answered on ${url} in 0.3 s`);
  });

  test("is told by what it says in place of that", async () => {
    const url = serverOf(() => new Response("loading", { status: 503 }));
    expect(await unready(url)).toBe(`the server on ${url} was not ready in 0.3 s: it said HTTP 503`);
  });
});

test("a client whose tracer is gone ends without a word", async () => {
  const driver = new URL("../../../src/client/driver.ts", import.meta.url).pathname;
  const script = `(sleep 0.5; echo {}) | "$0" "${driver}" | true`;
  const child = Bun.spawn(["sh", "-c", script, process.execPath], { stdout: "pipe", stderr: "pipe" });
  expect(await new Response(child.stderr).text()).toBe("");
});
