import { afterEach, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { MrmTraceError } from "../../../src/errors.ts";
import { loopbackText } from "../../../src/record/loopback-text.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** The address of a server that answers each request so. */
async function answering(answer: (socket: Socket) => void): Promise<URL> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it has no port");
  return new URL(`http://127.0.0.1:${address.port}/metrics`);
}

async function refusal(url: URL): Promise<MrmTraceError> {
  try {
    await loopbackText(url, "a hint");
  } catch (error) {
    if (error instanceof MrmTraceError) return error;
    throw error;
  }
  throw new Error("it answered");
}

test("an answer is the text of it, asked of the address itself whatever proxy is set", async () => {
  const url = await answering((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\ncounters é"));
  const before = process.env.http_proxy;
  process.env.http_proxy = "http://127.0.0.1:9";
  try {
    expect(await loopbackText(url, "")).toBe("counters é");
  } finally {
    if (before === undefined) delete process.env.http_proxy;
    else process.env.http_proxy = before;
  }
});

test("where it sends on is not followed", async () => {
  let asked = 0;
  const elsewhere = await answering((socket) => {
    asked += 1;
    socket.end("HTTP/1.0 200 OK\r\n\r\nx");
  });
  const url = await answering((socket) => socket.end(`HTTP/1.0 302 Found\r\nLocation: ${elsewhere.href}\r\n\r\n`));
  expect((await refusal(url)).message).toEndWith("answers with status 302");
  expect(asked).toBe(0);
});

test("an answer without an end is read up to 1 MiB", async () => {
  let sent = 0;
  const url = await answering((socket) => {
    socket.write("HTTP/1.0 200 OK\r\n\r\n");
    const piece = Buffer.alloc(2 ** 16);
    const more = (): void => {
      while (!socket.destroyed && sent < 2 ** 27) {
        sent += piece.length;
        if (!socket.write(piece)) return void socket.once("drain", more);
      }
    };
    more();
  });
  expect((await refusal(url)).message).toEndWith("answers with more than counters are");
  expect(sent).toBeLessThan(2 ** 26);
});

test("an answer that comes a byte at a time is waited for 5 s", async () => {
  const url = await answering((socket) => {
    const timer = setInterval(() => socket.write("x"), 100);
    socket.once("close", () => clearInterval(timer));
  });
  const began = performance.now();
  expect((await refusal(url)).message).toEndWith("did not answer in 5 s");
  expect(performance.now() - began).toBeGreaterThan(4900);
}, 60_000);
