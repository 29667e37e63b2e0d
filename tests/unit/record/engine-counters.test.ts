import { afterAll, describe, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { loopbackUrl } from "../../../src/config/loopback-url.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { countersOfLaunch, countsBetween, openEngineCounters } from "../../../src/record/engine-counters.ts";

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

/** Something that listens and does this with who connects, once something was asked. */
async function listening(act: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    sockets.add(socket);
    // Who is sent too much hangs up.
    socket.on("error", () => {});
    socket.once("data", () => act(socket));
  });
  servers.push(server);
  await new Promise<void>((done) => {
    server.listen(0, "127.0.0.1", done);
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/metrics`;
}

const text = (generated: number): string =>
  `llamacpp:prompt_tokens_total 4\nllamacpp:tokens_predicted_total ${generated}\nllamacpp:tokens_predicted_seconds_total ${generated / 100}\nllamacpp:requests_processing 0\n`;
const ok = (body: string, head = ""): string => `HTTP/1.1 200 OK\r\n${head}\r\n${body}`;

describe("the counters of an engine's server", () => {
  test("are told as what was counted between the begin and the end", async () => {
    let generated = 100;
    const counters = await openEngineCounters(await listening((socket) => socket.end(ok(text(generated)))));
    await counters.begin();
    generated = 900;
    await counters.end();
    expect(counters.counts()).toEqual({
      ...{ prompt_tokens: 0, generated_tokens: 800, generated_tokens_per_s: 100, requests_under_way: 0, why: null },
    });
  });

  test("of a server that is yet to be launched count from nothing, and the first that is read at the end holds", async () => {
    const free = await listening(() => {});
    const [server] = servers.slice(-1);
    const port = Number(new URL(free).port);
    await new Promise((done) => server?.close(done));
    const counters = await countersOfLaunch(free, () => {});
    await counters.begin();
    const started = createServer((socket) => socket.once("data", () => socket.end(ok(text(300)))));
    servers.push(started);
    await new Promise<void>((done) => {
      started.listen(port, "127.0.0.1", done);
    });
    await counters.end();
    await new Promise((done) => started.close(done));
    await counters.end();
    expect(counters.counts()).toMatchObject({ prompt_tokens: 4, generated_tokens: 300, why: null });
  });

  test("of a server that is up and tells none are said to be missing at once", async () => {
    const free = await listening(() => {});
    const [server] = servers.slice(-1);
    const port = Number(new URL(free).port);
    await new Promise((done) => server?.close(done));
    const { promise: said, resolve } = Promise.withResolvers<string>();
    const counters = await countersOfLaunch(free, resolve);
    await counters.begin();
    const refusing = "HTTP/1.1 501 Not Implemented\r\n\r\n{}";
    const started = createServer((socket) => socket.once("data", () => socket.end(refusing)));
    servers.push(started);
    await new Promise<void>((done) => {
      started.listen(port, "127.0.0.1", done);
    });
    expect(await said).toContain("status 501 (start llama-server with --metrics");
    await counters.end();
    expect(counters.counts()).toMatchObject({ generated_tokens: null, why: expect.stringContaining("status 501") });
  });

  test("are not those of another server, which answers before the command is launched", async () => {
    const there = await listening((socket) => socket.end(ok(text(1))));
    expect(countersOfLaunch(there, () => {})).rejects.toThrow("before the command was launched");
  });

  test("are read from a server that keeps the connection, when all that it announced is there", async () => {
    const body = text(1);
    const address = await listening((socket) => socket.write(ok(body, `Content-Length: ${body.length}\r\n`)));
    await openEngineCounters(address);
  });

  test("are an error before the recording where the answer is not what they are", async () => {
    const refused = async (act: (socket: Socket) => void, why: string) =>
      expect(openEngineCounters(await listening(act))).rejects.toThrow(why);
    await refused((socket) => socket.end("HTTP/1.1 501 Not Implemented\r\n\r\n{}"), "status 501");
    await refused((socket) => socket.end(ok("<html>")), "tells no counters");
    await refused((socket) => socket.end(), "gave no answer");
    await refused((socket) => socket.end("\r\n\r\n"), "status 0");
    await refused((socket) => socket.end(ok("x".repeat(3 * 2 ** 20))), "more than counters are");
    expect(openEngineCounters("http://127.0.0.1:1/metrics")).rejects.toThrow("cannot be asked");
  });

  test("are not known where the server went away or began anew meanwhile", () => {
    const at = (generated: number) => ({
      ...{ prompt_tokens: 1, generated_tokens: generated, generated_s: generated / 10, requests_under_way: 1 },
    });
    const gone = new MrmTraceError("target", "it cannot be asked", "start it");
    expect(countsBetween(at(5), gone)).toMatchObject({ generated_tokens: null, why: "at the end: it cannot be asked" });
    expect(countsBetween(gone, at(5)).why).toStartWith("at the begin");
    expect(countsBetween(at(5), at(4)).why).toContain("began anew");
    expect(countsBetween(at(5), at(5))).toMatchObject({
      generated_tokens_per_s: null,
      requests_under_way: 2,
      why: null,
    });
  });
});

test("an address is of this machine, and says no name and no password", () => {
  for (const text of ["http://127.0.0.1:8080/metrics", "http://localhost:1/metrics", "http://[::1]:9/m"]) {
    expect(loopbackUrl(text)?.href).toBe(text);
  }
  for (const text of [
    ...["https://127.0.0.1/metrics", "http://10.0.0.1/metrics", "http://127.0.0.1.evil.example/metrics", "metrics", ""],
    ...["http://user:secret@127.0.0.1/metrics", "http://127.0.0.1/metrics?key=secret", "file:///etc/passwd"],
  ]) {
    expect(loopbackUrl(text)).toBeNull();
  }
});
