/** Answers of Ollama's `/v1/chat/completions`, whole and streamed, beside what its runner counts of each: `/v1` leaves out the time. */
import { z } from "zod";
import { exchange } from "../src/client/token-stream.ts";
import { MODEL } from "./ollama-server.ts";

/** As Ollama counts: what its own API says of an answer, and what its runner tells its server. */
const answer = z.object({ prompt_eval_count: z.int(), eval_count: z.int(), eval_duration: z.int().describe("ns") });
export type Answer = Readonly<z.output<typeof answer>>;

/**
 * Prints the last line of each answer that a runner gives its server on a port of this machine. It is root's, as the tracer is; each
 * packet of the loopback is seen twice, of which one is taken.
 */
const OVERHEAR = `
import json, socket, sys
port, OUTGOING, rest = int(sys.argv[1]), 4, b""
heard = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
heard.bind(("lo", 3))
print("listening", flush=True)
while True:
    packet, about = heard.recvfrom(1 << 17)
    head = (packet[0] & 15) * 4
    if about[2] != OUTGOING or packet[0] >> 4 != 4 or packet[9] != 6 or int.from_bytes(packet[head:head + 2], "big") != port:
        continue
    *lines, rest = (rest + packet[head + (packet[head + 12] >> 4) * 4:]).split(b"\\n")
    for line in lines:
        if line.startswith(b"{") and json.loads(line).get("done"):
            print(line.decode(), flush=True)
`;

/** Port on which a runner is asked by its server. */
function portOf(command: readonly string[]): string {
  const port = command[command.indexOf("--port") + 1];
  if (!command.includes("--port") || port === undefined) throw new Error("the runner's port is not in its command");
  return port;
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}

const whole = z.object({ usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int() }) });

/** What an answer says by itself: tokens of the prompt and its own, and those that came as our client counts them. */
interface Said {
  readonly prompt_tokens: number | null;
  readonly output_tokens: number | null;
  /** Null of a whole answer, of which all come at once. */
  readonly came: number | null;
}

export type How = "whole" | "streamed";

async function askWhole(url: string, content: string, tokens: number): Promise<Said> {
  // At temperature 0 random weights repeat themselves until Ollama ends the answer.
  const asked = { model: MODEL, messages: [{ role: "user", content }], max_tokens: tokens, temperature: 1, seed: 1 };
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(asked) });
  if (!response.ok) throw new Error(`ollama answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
  const { usage } = whole.parse(await response.json());
  return { prompt_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens, came: null };
}

async function askStreamed(url: string, prompt: string, tokens: number): Promise<Said> {
  const signal = AbortSignal.timeout(120_000);
  const told = await exchange({ url, api: "openai-chat", prompt, tokens, reuse: true, model: MODEL, signal });
  if (!told.is_whole) throw new Error(`a streamed answer was cut: ${told.failure?.message ?? "ollama ended it"}`);
  const { prompt_tokens = null, output_tokens = null } = told.counts ?? {};
  return { prompt_tokens, output_tokens, came: told.tokens };
}

export interface Chats {
  /** By the runner. */
  readonly answers: readonly Answer[];
  readonly said: readonly Said[];
}

/**
 * Asks for so many answers, one after the other.
 * @param runner words of its command
 */
export async function askChats(
  how: How,
  url: string,
  runner: readonly string[],
  count: number,
  tokens: number,
): Promise<Chats> {
  const listener = Bun.spawn(["python3", "-c", OVERHEAR, portOf(runner)], { stdout: "pipe", stderr: "inherit" });
  try {
    const heard = lines(listener.stdout);
    if ((await heard.next()).value !== "listening") throw new Error("the runner cannot be listened to");
    const answers: Answer[] = [];
    const said: Said[] = [];
    const ask = how === "whole" ? askWhole : askStreamed;
    for (let i = 0; i < count; i++) {
      said.push(await ask(url, `${i} ${"the fox sleeps ".repeat(3)}`, tokens));
      answers.push(answer.parse(JSON.parse((await heard.next()).value ?? "null")));
    }
    return { answers, said };
  } finally {
    listener.kill();
    await listener.exited;
  }
}
