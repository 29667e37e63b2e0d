/** Asks a server on this machine for a short text: without proxies and redirects, in bounded time and memory. */
import { connect } from "node:net";
import { MrmTraceError } from "../errors.ts";

const [MOST_MS, MOST_BYTES] = [5000, 2 ** 20];

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The answer in what was received so far; null where more must come. */
function answerIn(received: Buffer, ended: boolean): Answer | null {
  const headBytes = received.indexOf("\r\n\r\n");
  if (headBytes < 0) return null;
  const head = received.toString("latin1", 0, headBytes);
  const body = received.subarray(headBytes + 4);
  const length = /^content-length: *(\d{1,9}) *$/im.exec(head)?.[1];
  if (!ended && (length === undefined || body.length < Number(length))) return null;
  return { status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0), text: body.toString("utf8") };
}

/**
 * The text at an address, of 1 MiB at most, within 5 s.
 * @param url as `loopbackUrl` gives it
 * @throws MrmTraceError target, where nobody answers with it
 */
export async function loopbackText(url: URL, hint: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const fail = (what: string) => reject(new MrmTraceError("target", `${url.href} ${what}`, hint));
  const host = url.hostname === "localhost" ? "127.0.0.1" : url.hostname.replace(/[[\]]/g, "");
  const socket = connect({ host, port: Number(url.port || 80) });
  const timer = setTimeout(() => fail(`did not answer in ${MOST_MS / 1000} s`), MOST_MS);
  let received: Buffer = Buffer.alloc(0);
  socket.on("connect", () => {
    // In HTTP/1.0 the answer has no parts and ends with the connection.
    socket.write(`GET ${url.pathname} HTTP/1.0\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`);
  });
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (received.length > MOST_BYTES) return fail("answers with more than counters are");
    const answer = answerIn(received, false);
    if (answer !== null) resolve(answer);
  });
  socket.on("close", () => {
    const answer = answerIn(received, true);
    if (answer === null) fail("gave no answer");
    else resolve(answer);
  });
  socket.on("error", (error) => fail(`cannot be asked: ${error.message}`));
  try {
    const { status, text } = await promise;
    if (status !== 200) throw new MrmTraceError("target", `${url.href} answers with status ${status}`, hint);
    return text;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
