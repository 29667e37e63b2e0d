import { afterAll, expect, test } from "bun:test";
import { type GivenModel, giveModel } from "../../../src/client/given-model.ts";

const asked: unknown[] = [];
let answer = (): Response => Response.json({ status: "success" });
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    asked.push([new URL(request.url).pathname, await request.json()]);
    return answer();
  },
});
afterAll(() => server.stop(true));

const model: GivenModel = { name: "m", digest: `sha256:${"a".repeat(64)}`, threads: 2 };
const give = (given: GivenModel = model) =>
  giveModel(`http://127.0.0.1:${server.port}`, given, AbortSignal.timeout(20_000));

test("a server makes a model of a file in its store, with the threads that were asked", async () => {
  await give();
  await give({ ...model, threads: null });
  const files = { "model.gguf": model.digest };
  expect(asked).toEqual([
    ["/api/create", { model: "m", files, stream: false, parameters: { num_thread: 2 } }],
    ["/api/create", { model: "m", files, stream: false }],
  ]);
});

test("a server that makes none is told with what it says, which may be anything", async () => {
  const refusals: [() => Response, string][] = [
    [() => Response.json({ error: "no such blob" }, { status: 400 }), "answered 400 to /api/create: "],
    [() => Response.json({ error: "unknown type" }), "unknown type"],
    [() => new Response("<html>"), "<html>"],
    [() => new Response(""), "answered 200"],
  ];
  for (const [refusal, words] of refusals) {
    answer = refusal;
    expect(give()).rejects.toThrow(words);
  }
});
