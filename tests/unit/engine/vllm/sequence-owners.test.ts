import { describe, expect, test } from "bun:test";
import type { RequestStates } from "../../../../src/engine/vllm/request-states.ts";
import { type SequenceOwners, sequenceOwners } from "../../../../src/engine/vllm/sequence-owners.ts";

type States = Readonly<Record<string, { readonly blocks: readonly number[]; readonly computed: number }>>;

/** What a look at such requests says. */
function look(states: States): RequestStates {
  return {
    names: new Set(Object.keys(states)),
    promptTokens: () => 9,
    generates: (name) => (name === "pooled" ? false : null),
    hasBlocks: (name, { blocks }) => blocks.every((block, i) => states[name]?.blocks[i] === block),
    isAt: (name, { length, tokens }) => states[name]?.computed === length - tokens,
    keepsPrefixes: () => true,
  };
}
const step = (length: number, ...blocks: number[]) => ({ tokens: 1, length, blocks });
const namesIn = (owners: SequenceOwners) =>
  owners.told().map(({ sequence, request, is_gone }) => `${sequence} ${request}${is_gone ? " gone" : ""}`);

describe("a sequence", () => {
  test("is the request's that has its blocks and stands in front of its tokens", () => {
    const owners = sequenceOwners();
    owners.note(1n, [0, 1], [step(10, 1, 2), step(10, 1, 3)]);
    expect(owners.asks()).toBe("names");
    owners.take(look({ a: { blocks: [1, 2], computed: 9 }, b: { blocks: [1, 3], computed: 9 } }), 2n);
    expect(namesIn(owners)).toEqual(["0 a", "1 b"]);
    expect(owners.asks()).toBeNull();
  });

  test("is at its prompt where it stands before the end of what its request asked", () => {
    const owners = sequenceOwners();
    owners.note(1n, [0, 1], [step(5, 1, 2), step(10, 1, 3)]);
    owners.take(look({ a: { blocks: [1, 2], computed: 4 } }), 2n);
    // The prompt has 9 tokens; of the other sequence nobody knows its request.
    expect([4, 8, 9].map((position) => owners.isAtPrompt(0, position))).toEqual([true, true, false]);
    expect([owners.isAtPrompt(1, 3), owners.isAtPrompt(7, 0)]).toEqual([false, false]);
  });

  test("is told to have no answer where its request is pooled", () => {
    const owners = sequenceOwners();
    owners.note(1n, [0, 1], [step(10, 1, 2), step(10, 1, 3)]);
    owners.take(look({ a: { blocks: [1, 2], computed: 9 }, pooled: { blocks: [1, 3], computed: 7 } }), 2n);
    owners.note(3n, [1], [step(11, 1, 3)]);
    expect(owners.told().map(({ request, generates }) => [request, generates])).toEqual([
      ["a", undefined],
      ["pooled", false],
    ]);
  });

  test("is the request's that had its blocks before it went on, however far it had come then", () => {
    const owners = sequenceOwners();
    owners.note(1n, [0], [step(10, 1, 2)]);
    owners.take(look({ a: { blocks: [1, 2], computed: 11 } }), 5n);
    expect(namesIn(owners)).toEqual([]);
    // This one began before the look had ended.
    owners.note(4n, [0], [step(11, 1, 2)]);
    expect(namesIn(owners)).toEqual([]);
    owners.note(6n, [0], [step(12, 1, 2)]);
    expect(namesIn(owners)).toEqual(["0 a"]);
  });

  test("that stopped before the last look is counted among those without a name, and one that goes on is not", () => {
    const owners = sequenceOwners();
    owners.note(1n, [0, 1], [step(8, 1, 2), step(8, 1, 3)]);
    expect(owners.unnamed).toBe(0);
    owners.note(2n, [1], [step(9, 1, 3)]);
    expect(owners.unnamed).toBe(1);
    owners.take(look({ a: { blocks: [1, 2], computed: 7 }, b: { blocks: [1, 3], computed: 8 } }), 3n);
    expect(namesIn(owners)).toEqual(["0 a", "1 b"]);
    expect(owners.unnamed).toBe(0);
  });

  test("that ended is not the next one's that got its blocks", () => {
    const owners = sequenceOwners();
    owners.note(1n, [0], [step(8, 1, 2)]);
    owners.note(2n, [1], [step(9, 1, 2, 3)]);
    const states = { next: { blocks: [1, 2, 3], computed: 9 } };
    owners.take(look(states), 3n);
    owners.take(look(states), 4n);
    owners.note(5n, [1], [step(10, 1, 2, 3)]);
    expect(namesIn(owners)).toEqual(["1 next"]);
    expect(owners.unnamed).toBe(1);
  });

  test("has no name while two requests have its blocks", () => {
    const owners = sequenceOwners();
    owners.note(1n, [0], [step(8, 1, 2)]);
    owners.take(look({ a: { blocks: [1, 2], computed: 7 }, b: { blocks: [1, 2, 3], computed: 7 } }), 2n);
    expect(namesIn(owners)).toEqual([]);
  });

  test("that stopped is looked for until its request is gone, or goes on", () => {
    const owners = sequenceOwners();
    owners.note(1n, [0, 1], [step(8, 1), step(8, 2)]);
    const [a, b] = [
      { blocks: [1], computed: 7 },
      { blocks: [2], computed: 7 },
    ];
    owners.take(look({ a, b }), 2n);
    owners.note(3n, [1], [step(9, 2)]);
    owners.take(look({ a, b }), 4n);
    expect([namesIn(owners), owners.asks()]).toEqual([["0 a", "1 b"], "ends"]);
    owners.take(look({ b }), 5n);
    expect([namesIn(owners), owners.asks()]).toEqual([["0 a gone"], null]);
  });

  test("is asked for no longer where the requests of the engine can never be read", () => {
    const owners = sequenceOwners();
    for (let i = 0n; i < 255n; i++) {
      owners.note(i, [0], [step(10, 1, 2)]);
      owners.take(null, i);
    }
    expect([owners.asks(), owners.isHopeless()]).toEqual(["names", false]);
    owners.take(null, 256n);
    expect([owners.asks(), owners.isHopeless()]).toEqual([null, true]);
    // One moment in which they are changed is none of these.
    const named = sequenceOwners();
    named.note(1n, [0], [step(10, 1, 2)]);
    named.take(look({ a: { blocks: [1, 2], computed: 9 } }), 2n);
    for (let i = 0n; i < 300n; i++) named.take(null, i);
    expect(named.isHopeless()).toBe(false);
  });

  test("is asked for no longer where no request ever has the blocks of any", () => {
    const owners = sequenceOwners();
    const none = look({ a: { blocks: [7], computed: 9 } });
    for (let i = 0n; i < 255n; i++) {
      owners.note(i, [0], [step(10, 1, 2)]);
      owners.take(none, i);
    }
    expect([owners.asks(), owners.isHopeless()]).toEqual(["names", false]);
    owners.take(none, 256n);
    owners.note(257n, [0, 1], [step(10, 1, 2), step(4, 3)]);
    expect([owners.asks(), owners.isHopeless()]).toEqual([null, true]);
  });
});
