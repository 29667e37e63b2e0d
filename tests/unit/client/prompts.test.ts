import { afterAll, describe, expect, test } from "bun:test";
import { promptSource } from "../../../src/client/prompts.ts";

const signal = AbortSignal.timeout(20_000);
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  /** A token for each character, behind one that begins a text; what holds a 0 has no tokens that can be meant. */
  async fetch(request) {
    const { content, add_special } = (await request.json()) as { content: string; add_special: boolean };
    if (content.includes("0")) return Response.json({ tokens: ["a"] });
    const tokens = [...content].map((character) => character.charCodeAt(0));
    return Response.json({ tokens: add_special ? [1, ...tokens] : tokens });
  },
});
afterAll(() => server.stop(true));
const url = `http://127.0.0.1:${server.port}`;

describe("the prompts of our client", () => {
  test("are texts in turn", async () => {
    const promptAt = await promptSource({ url, prompts: { texts: ["a", "b"], fit: null } }, signal);
    expect([0, 1, 2].map(promptAt)).toEqual(["a", "b", "a"]);
  });

  test("that must fit are the server's own tokens, cut, or repeated where they must be exact", async () => {
    const fitted = async (is_exact: boolean) => {
      const promptAt = await promptSource(
        { url, prompts: { texts: ["AB", "ABCDEF"], fit: { tokens: 6, is_exact } } },
        signal,
      );
      return [promptAt(0), promptAt(1)];
    };
    expect(await fitted(false)).toEqual([
      [1, 65, 66],
      [1, 65, 66, 67, 68, 69],
    ]);
    expect(await fitted(true)).toEqual([
      [1, 65, 66, 65, 66, 65],
      [1, 65, 66, 67, 68, 69],
    ]);
  });

  test("that the server cannot put into tokens are an error", () => {
    const prompts = { texts: ["0"], fit: { tokens: 6, is_exact: false } };
    expect(promptSource({ url, prompts }, signal)).rejects.toThrow("no tokens");
  });

  test("that are drawn are of the vocabulary and the length that were told, and the same for a seed", async () => {
    const drawn = { tokens: 50, vocabulary: 7, seed: 3 };
    const [first, again] = [
      await promptSource({ url, prompts: { drawn } }, signal),
      await promptSource({ url, prompts: { drawn } }, signal),
    ];
    expect([first(0), first(1)]).toEqual([again(0), again(1)]);
    expect(first(0)).not.toEqual(first(1));
    expect(first(0)).toHaveLength(50);
    expect([...first(0)].every((token) => Number(token) >= 0 && Number(token) < 7)).toBe(true);
  });
});
