import { afterAll, describe, expect, test } from "bun:test";
import { drive } from "../../../src/client/drive.ts";
import { type Drive, type DriveMessage, driveMessageSchema } from "../../../src/client/drive-messages.ts";
import { ONE_REQUEST } from "../../fixtures/one-request.ts";

const servers: { stop: (force?: boolean) => unknown }[] = [];
afterAll(() => {
  for (const server of servers) server.stop(true);
});

const TOKEN = 'data: {"content":"a","stop":false}\n\n';
const END =
  'data: {"content":"","stop":true,"id_slot":3,"tokens_evaluated":9,"timings":{"prompt_n":7,"predicted_n":2,"predicted_ms":1.5},"prompt":"a secret"}\n\n';

/** A server that answers each request by its number, from 0, and tells what it was asked. */
function serverOf(answer: (number: number) => Response): { url: string; asked: unknown[] } {
  const asked: unknown[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (new URL(request.url).pathname === "/health") return new Response("{}");
      const { prompt } = (await request.json()) as { prompt: unknown };
      asked.push(prompt);
      return answer(asked.length - 1);
    },
  });
  servers.push(server);
  return { url: `http://127.0.0.1:${server.port}`, asked };
}

const SETTINGS: Omit<Drive, "url"> = { ...ONE_REQUEST, silence_ms: 60_000 };

async function driven(settings: Drive, signal: AbortSignal = AbortSignal.timeout(20_000)) {
  const told: DriveMessage[] = [];
  await drive(settings, (message) => told.push(message), signal);
  const read = told.map((message) => driveMessageSchema.parse(JSON.parse(JSON.stringify(message))));
  return {
    sent: read.filter(({ says }) => says === "sent"),
    ended: read.flatMap((one) => (one.says === "ended" ? [one] : [])),
  };
}

describe("our client of a server", () => {
  test("takes its prompts in turn, and tells of each answer times and counts, and no text", async () => {
    const { url, asked } = serverOf(() => new Response(TOKEN + TOKEN + END));
    const prompts = { texts: ["one", "two"], fit: null };
    const { sent, ended } = await driven({ ...SETTINGS, url, prompts, requests: 3, clients: 1 });
    expect(asked).toEqual(["one", "two", "one"]);
    expect([sent.length, ended.map(({ request_id }) => request_id)]).toEqual([3, [1, 2, 3]]);
    const [first] = ended;
    expect(first).toMatchObject({ status: "answered", http_status: 200, streamed_tokens: 2, output_tokens: 2 });
    expect(first).toMatchObject({ prompt_tokens: 9, evaluated_tokens: 7, output_ns: 1_500_000 });
    expect(first?.sequence_id).toBe(3);
    const { sent_ns = 0n, first_token_ns, last_token_ns, end_ns = 0n } = first ?? {};
    const times = [sent_ns, first_token_ns ?? 0n, last_token_ns ?? 0n, end_ns];
    expect(times).toEqual(times.toSorted((a, b) => Number(a - b)));
    expect(JSON.stringify(first, (_, value) => (typeof value === "bigint" ? "" : value))).not.toContain("secret");
  });

  test("says how an answer that is not whole ended, and asks on", async () => {
    const answers = [() => new Response("no", { status: 503 }), () => new Response(TOKEN), () => new Response(END)];
    const { url } = serverOf((number) => (answers[number] ?? answers[2])?.() ?? new Response());
    const { ended } = await driven({ ...SETTINGS, url, requests: 3 });
    expect(ended.map(({ status, http_status }) => [status, http_status])).toEqual([
      ["refused", 503],
      ["cut", 200],
      ["answered", 200],
    ]);
    expect(ended.map(({ streamed_tokens, token_gap_p50_ns }) => [streamed_tokens, token_gap_p50_ns])).toEqual([
      [0, null],
      [1, null],
      [0, null],
    ]);
  });

  test("has as many requests under way as it has clients, and lets them end when its time is over", async () => {
    let most = 0;
    let underWay = 0;
    const { url, asked } = serverOf(() => {
      underWay += 1;
      most = Math.max(most, underWay);
      const body = new ReadableStream({
        async start(controller) {
          // All clients come before the first is answered.
          while (asked.length < 3) await Bun.sleep(1);
          underWay -= 1;
          controller.enqueue(new TextEncoder().encode(TOKEN + END));
          controller.close();
        },
      });
      return new Response(body);
    });
    const { sent, ended } = await driven({ ...SETTINGS, url, clients: 3, requests: null, duration_ms: 50 });
    expect(most).toBe(3);
    expect([ended.length, new Set(ended.map(({ status }) => status))]).toEqual([sent.length, new Set(["answered"])]);
  });

  test("gives up what is under way when it is told to end", async () => {
    const { url, asked } = serverOf(() => new Response(new ReadableStream({ start() {} })));
    const over = new AbortController();
    const waiting = driven({ ...SETTINGS, url, requests: 5 }, over.signal);
    while (asked.length === 0) await Bun.sleep(1);
    over.abort();
    const { sent, ended } = await waiting;
    expect([sent.length, ended.map(({ status }) => status)]).toEqual([1, ["cut"]]);
  });

  test("asks Ollama by the name of its first model, and takes what its last line counts", async () => {
    const asked: unknown[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === "/v1/models") return Response.json({ object: "list", data: [{ id: "mine:latest" }] });
        if (pathname !== "/api/generate") return new Response("404 page not found", { status: 404 });
        asked.push(await request.json());
        const part = (fields: object): string => `${JSON.stringify({ model: "mine:latest", ...fields })}\n`;
        const last = { response: "", done: true, done_reason: "length", prompt_eval_count: 9, eval_count: 2 };
        return new Response(part({ response: "a", done: false }) + part(last));
      },
    });
    servers.push(server);
    const { ended } = await driven({ ...SETTINGS, api: "ollama", url: `http://127.0.0.1:${server.port}` });
    expect(asked).toMatchObject([{ model: "mine:latest", prompt: "x", raw: true, options: { num_predict: 2 } }]);
    // A token that came without a text of its own is told by the last line.
    expect(ended).toMatchObject([
      { status: "answered", streamed_tokens: 2, prompt_tokens: 9, evaluated_tokens: null, output_tokens: 2 },
    ]);
  });

  test("asks servers of the common form by the name of their model, and takes what they count", async () => {
    const asked: unknown[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === "/v1/models") return Response.json({ object: "list", data: [{ id: "m1" }, { id: "m2" }] });
        if (pathname !== "/v1/completions") return new Response("no", { status: 404 });
        asked.push(await request.json());
        const chunk = (text: string): string =>
          `data: {"id":"cmpl-1","choices":[{"text":${JSON.stringify(text)}}],"usage":null}\n\n`;
        const usage =
          'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}\n\n';
        return new Response(`${chunk("a")}${chunk("b")}${chunk("")}${usage}data: [DONE]\n\n`);
      },
    });
    servers.push(server);
    const { ended } = await driven({ ...SETTINGS, api: "openai", url: `http://127.0.0.1:${server.port}` });
    expect(asked).toMatchObject([{ model: "m1", prompt: "x", max_tokens: 2, stream_options: { include_usage: true } }]);
    expect(ended).toMatchObject([
      {
        request: "cmpl-1",
        status: "answered",
        streamed_tokens: 2,
        prompt_tokens: 9,
        evaluated_tokens: 5,
        output_tokens: 3,
        sequence_id: null,
      },
    ]);
  });

  test.each([
    ["an error", '{"error":{"message":"EngineCore died","type":"InternalServerError","code":500}}'],
    ["an error in the words of older builds", '{"object":"error","message":"no","code":400}'],
    ["the end of what was put off", '{"id":"cmpl-1","choices":[{"text":"","finish_reason":"abort"}]}'],
  ])("takes an answer for cut where a server tells %s in its midst and then ends it as any other", async (_, event) => {
    const token = 'data: {"id":"cmpl-1","choices":[{"text":"a","finish_reason":null}]}\n\n';
    const said = `${token}${token}data: ${event}\n\ndata: [DONE]\n\n`;
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(said) });
    servers.push(server);
    const url = `http://127.0.0.1:${server.port}`;
    for (const api of ["openai", "openai-chat"] as const) {
      const { ended } = await driven({ ...SETTINGS, api, url });
      expect(ended).toMatchObject([{ status: "cut", http_status: 200, request: "cmpl-1", streamed_tokens: 2 }]);
    }
  });

  test("takes one event for a token where a server says none before it counts, as Ollama does", async () => {
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const all = { prompt_tokens: 13, completion_tokens: 4, total_tokens: 17 };
    const choice = (text: string, finish_reason: string | null) => ({ text, index: 0, finish_reason });
    const event = (choices: object[], usage: object): string =>
      `data: ${JSON.stringify({ id: "cmpl-362", object: "text_completion", model: "mrm:latest", choices, usage })}\n\n`;
    const words = [" w15369", " w20249", " w28937", " w31303"].map((word) => event([choice(word, null)], none));
    const rest = `${event([choice("", "length")], none)}${event([], all)}data: [DONE]\n\n`;
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(words.join("") + rest) });
    servers.push(server);
    const { ended } = await driven({ ...SETTINGS, api: "openai", url: `http://127.0.0.1:${server.port}` });
    expect(ended).toMatchObject([{ status: "answered", streamed_tokens: 4, prompt_tokens: 13, output_tokens: 4 }]);
  });

  test.each([
    ["openai", "/v1/completions", "cmpl-"],
    ["openai-chat", "/v1/chat/completions", "chatcmpl-"],
  ] as const)(
    "gives each request of %s a name, by which it is known where its answer never came",
    async (api, path, prefix) => {
      const given: (string | null)[] = [];
      const server = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch(request) {
          const { pathname } = new URL(request.url);
          if (pathname === "/v1/models") return Response.json({ data: [] });
          if (pathname !== path) return new Response("no", { status: 404 });
          given.push(request.headers.get("x-request-id"));
          // The first ends without an event, the second has one that tells no name, the third tells one of its own.
          const said = ["", '{"choices":[]}', '{"id":"mine","choices":[]}'][given.length - 1];
          return new Response(said === "" ? ": nothing yet\n\n" : `data: ${said}\n\ndata: [DONE]\n\n`);
        },
      });
      servers.push(server);
      const { ended } = await driven({ ...SETTINGS, api, requests: 3, url: `http://127.0.0.1:${server.port}` });
      expect(new Set(given).size).toBe(3);
      for (const name of given) expect(name).toMatch(/^[0-9a-f]{32}$/);
      expect(ended.map(({ request }) => request)).toEqual([`${prefix}${given[0]}`, null, "mine"]);
    },
  );
});
