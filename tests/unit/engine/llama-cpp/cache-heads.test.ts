import { describe, expect, test } from "bun:test";
import { cacheHeads, type PlacedRun } from "../../../../src/engine/llama-cpp/cache-heads.ts";

const CONTEXT = 0x9000n;

/** One run of tokens, and how many at its end ask for logits. */
type Run = readonly [
  sequences: number | readonly number[],
  position: number | null,
  tokens: number,
  asking: number | null,
];

function driven() {
  const heads = cacheHeads();
  heads.begin(CONTEXT);
  let drafter: bigint | null = null;
  return {
    ...heads,
    /** Who guessed what the last batch had. */
    guessedBy: () => drafter,
    /** Hands a batch over; the first sequences of its runs that are one token of a prompt. */
    batch(...runs: readonly Run[]): number[] {
      return this.batchOf(CONTEXT, ...runs);
    },
    /** Hands a batch over; the first sequences of its runs that are drafts. */
    draft(...runs: readonly Run[]): number[] {
      return this.placed(CONTEXT, runs).flatMap(({ isDraft, sequences: [first = -1] }) => (isDraft ? [first] : []));
    },
    batchOf(context: bigint, ...runs: readonly Run[]): number[] {
      return this.placed(context, runs).flatMap(({ isPrompt, sequences: [first = -1] }) => (isPrompt ? [first] : []));
    },
    placed(context: bigint, runs: readonly Run[]): readonly PlacedRun[] {
      const placed = heads.place(
        context,
        runs.map(([named, position, tokens, asking]) => ({
          ...{ sequences: typeof named === "number" ? [named] : named, position, tokens, asking },
        })),
      );
      drafter = heads.drafter(context, placed ?? []);
      heads.advance(context, placed, 0n);
      return placed ?? [];
    },
  };
}

describe("a token that is alone of its sequence in a batch", () => {
  test("is of the prompt where the batch before asked for no logits of its sequence, else of the answer", () => {
    const heads = driven();
    heads.batch([0, 0, 64, 0]);
    heads.batch([0, 64, 64, 0]);
    expect(heads.batch([0, 128, 1, 1])).toEqual([0]);
    expect(heads.batch([0, 129, 1, 1])).toEqual([]);
    expect(heads.batch([0, 130, 1, 1])).toEqual([]);
    heads.batch([1, 0, 9, 1]);
    expect(heads.batch([0, 131, 1, 1], [1, 9, 1, 1])).toEqual([]);
  });

  test("is told apart for each sequence of a batch, where a batch of others came between too", () => {
    const heads = driven();
    heads.batch([0, 0, 9, 1]);
    heads.batch([0, 9, 1, 1], [1, 0, 63, 0]);
    heads.batch([0, 10, 1, 1]);
    expect(heads.batch([0, 11, 1, 1], [1, 63, 1, 1])).toEqual([1]);
    expect(heads.batch([0, 12, 1, 1], [1, 64, 1, 1])).toEqual([]);
  });

  test("is of the prompt at its begin, as of a prompt of one token and where all but the last was cached", () => {
    const heads = driven();
    expect(heads.batch([0, 0, 1, 1])).toEqual([0]);
    heads.batch([0, 1, 1, 1]);
    heads.batch([0, 2, 1, 1]);
    // The same prompt again, of which the engine has all but the last token.
    heads.trim(CONTEXT, { sequence: 0, from: 0, to: -1 });
    heads.batch([0, 0, 40, 1]);
    heads.batch([0, 40, 1, 1]);
    heads.trim(CONTEXT, { sequence: 0, from: 39, to: -1 });
    expect(heads.batch([0, 39, 1, 1])).toEqual([0]);
    expect(heads.batch([0, 40, 1, 1])).toEqual([]);
  });

  test("is of the answer behind a draft of which a part was not taken", () => {
    const heads = driven();
    heads.batch([0, 0, 40, 1]);
    heads.batch([0, 40, 5, 5]);
    heads.trim(CONTEXT, { sequence: 0, from: 42, to: -1 });
    expect(heads.batch([0, 42, 1, 1])).toEqual([]);
  });

  test("is of the answer where its sequence was copied, kept, shifted or trimmed in front of it behind the prompt", () => {
    const heads = driven();
    heads.batch([0, 0, 40, 1]);
    heads.copy(CONTEXT, 0, 1, -1);
    expect(heads.batch([0, 40, 1, 1], [1, 40, 1, 1])).toEqual([]);
    heads.keep(CONTEXT, 1);
    expect(heads.batch([1, 41, 1, 1])).toEqual([]);
    heads.trim(CONTEXT, { sequence: 1, from: 4, to: 20 });
    heads.shift(CONTEXT, { sequence: 1, from: 20, to: -1 }, -16);
    expect(heads.batch([1, 26, 1, 1])).toEqual([]);
    heads.batch([2, 0, 40, 0]);
    heads.copy(CONTEXT, 2, 3, -1);
    expect(heads.batch([3, 40, 1, 1])).toEqual([3]);
  });

  test("is not told where it is not known which tokens asked, and before a program says of any token that it asks", () => {
    const heads = driven();
    heads.batch([0, 0, 64, null]);
    expect(heads.batch([0, 64, 1, null])).toEqual([]);
    heads.batch([1, 0, 64, 0]);
    expect(heads.batch([1, 64, 1, 0])).toEqual([]);
    expect(heads.batch([1, 65, 1, 1])).toEqual([1]);
    heads.batch([1, 66, 1, null]);
    expect(heads.batch([1, 67, 1, 1])).toEqual([]);
  });

  test("is not told where what its sequence holds was not seen", () => {
    const heads = driven();
    heads.batch([0, 0, 64, 1]);
    heads.forget(CONTEXT, 0);
    expect(heads.batch([0, 64, 1, 1])).toEqual([]);
    expect(heads.batchOf(0xa000n, [0, 64, 1, 1])).toEqual([]);
  });

  test("is not told where a batch in front of it was not seen", () => {
    const heads = driven();
    heads.batch([1, 0, 9, 1], [0, 0, 64, 0]);
    expect(heads.batch([0, 73, 1, 1])).toEqual([]);
    expect(heads.batch([0, 74, 1, 1])).toEqual([]);
  });

  test("is not told where several contexts decode, one of which may be handed what another samples", () => {
    const heads = driven();
    heads.batch([0, 0, 64, 1]);
    heads.batchOf(0xa000n, [0, 0, 64, 0]);
    expect(heads.batchOf(0xa000n, [0, 64, 1, 1])).toEqual([]);
    heads.free(0xa000n);
    heads.batch([0, 64, 64, 0]);
    expect(heads.batch([0, 128, 1, 1])).toEqual([0]);
  });

  test("is told of several sequences that share it where each of them has it of its prompt", () => {
    const heads = driven();
    heads.batch([[0, 1], 0, 40, 0]);
    expect(heads.batch([[0, 1], 40, 1, 1])).toEqual([0]);
    expect(heads.batch([[0, 1], 41, 1, 1])).toEqual([]);
    heads.batch([0, 42, 9, 0]);
    expect(heads.batch([[0, 1], 51, 1, 1])).toEqual([]);
  });
});

describe("several tokens of a sequence in a batch, which all ask for logits,", () => {
  test("are a draft where they stand behind a token that asked, and prompts do not ask so", () => {
    const heads = driven();
    expect(heads.draft([0, 0, 40, 1])).toEqual([]);
    expect(heads.draft([0, 40, 5, 5])).toEqual([0]);
    expect(heads.trim(CONTEXT, { sequence: 0, from: 42, to: -1 })).toBe(1);
    expect(heads.draft([0, 42, 5, 5], [1, 0, 20, 1])).toEqual([0]);
    expect(heads.trim(CONTEXT, { sequence: 0, from: 43, to: -1 })).toBe(0);
    expect(heads.draft([0, 43, 3, 3], [1, 20, 4, 4])).toEqual([0, 1]);
    expect(heads.trim(CONTEXT, { sequence: 0, from: 46, to: -1 })).toBe(2);
    expect(heads.trim(CONTEXT, { sequence: 1, from: 22, to: -1 })).toBe(1);
    // Once for each draft.
    expect(heads.trim(CONTEXT, { sequence: 1, from: 22, to: -1 })).toBe(0);
  });

  test("are none where a conversation goes on by a prompt behind its answer, which asks for its last", () => {
    const heads = driven();
    heads.draft([0, 0, 40, 1]);
    heads.draft([0, 40, 1, 1]);
    expect(heads.draft([0, 41, 12, 1])).toEqual([]);
    expect(heads.draft([0, 53, 2, 1])).toEqual([]);
    expect(heads.draft([0, 55, 2, 2])).toEqual([0]);
  });

  test("are none where a program asks for all of its prompts, from the first such prompt on", () => {
    const heads = driven();
    heads.draft([0, 0, 512, 512]);
    expect(heads.draft([0, 512, 512, 512])).toEqual([]);
    heads.draft([0, 1024, 1, 1]);
    expect(heads.draft([0, 1025, 9, 9])).toEqual([]);
    const server = driven();
    server.draft([0, 0, 40, 1]);
    expect(server.draft([0, 40, 5, 5])).toEqual([0]);
    server.draft([1, 0, 40, 40]);
    expect(server.draft([0, 45, 5, 5])).toEqual([]);
  });

  test("are none where it is not known what asked before, or prompts were not seen, or not right behind", () => {
    const unseen = driven();
    unseen.forget(CONTEXT, 0);
    expect(unseen.draft([0, 40, 5, 5])).toEqual([]);
    expect(unseen.draft([0, 45, 5, 5])).toEqual([]);
    const heads = driven();
    heads.draft([0, 0, 40, 1]);
    expect(heads.draft([0, 41, 5, 5])).toEqual([]);
    heads.forget(CONTEXT, 0);
    expect(heads.draft([0, 46, 5, 5])).toEqual([]);
    heads.draft([1, 0, 40, null]);
    expect(heads.draft([1, 40, 5, 5])).toEqual([]);
    heads.draft([[2, 3], 0, 40, 1]);
    expect(heads.draft([[2, 3], 40, 5, 5])).toEqual([]);
  });

  test("have no guesses that stay where their sequence is emptied, goes on, or loses what is before them", () => {
    const heads = driven();
    const drafted = (sequence: number) => {
      heads.draft([sequence, 0, 40, 1]);
      expect(heads.draft([sequence, 40, 5, 5])).toEqual([sequence]);
    };
    drafted(0);
    expect(heads.trim(CONTEXT, { sequence: 0, from: 0, to: -1 })).toBe(0);
    drafted(1);
    expect(heads.trim(CONTEXT, { sequence: 1, from: 40, to: -1 })).toBe(0);
    drafted(2);
    heads.draft([2, 45, 1, 1]);
    expect(heads.trim(CONTEXT, { sequence: 2, from: 43, to: -1 })).toBe(0);
    drafted(3);
    expect(heads.trim(CONTEXT, { sequence: 3, from: 0, to: 10 })).toBe(0);
    drafted(4);
    heads.clear(CONTEXT);
    expect(heads.trim(CONTEXT, { sequence: 4, from: 43, to: -1 })).toBe(0);
  });
});

describe("a draft model", () => {
  const OTHER = 0xa000n;
  /** Decodes what was sampled and all guesses but the last, as who guesses does, from a position on. */
  function guess(heads: ReturnType<typeof driven>, position: number, guesses: number, context = OTHER): void {
    for (let i = 0; i < guesses; i++) heads.batchOf(context, [0, position + i, 1, 1]);
    heads.trim(context, { sequence: 0, from: position, to: -1 });
  }
  function prompted() {
    const heads = driven();
    heads.draft([0, 0, 40, 1]);
    heads.batchOf(OTHER, [0, 0, 40, 1]);
    return heads;
  }

  test("is the context that decoded the guesses of three drafts in a row", () => {
    const heads = prompted();
    const said: (bigint | null)[] = [];
    for (let i = 0; i < 4; i++) {
      guess(heads, 40 + i, 5);
      heads.draft([0, 40 + i, 6, 6]);
      said.push(heads.guessedBy());
      heads.trim(CONTEXT, { sequence: 0, from: 41 + i, to: -1 });
    }
    expect(said).toEqual([null, null, OTHER, OTHER]);
    // Known then, whatever it decodes more; a batch without guesses has none.
    heads.batch([0, 44, 1, 1]);
    expect(heads.guessedBy()).toBeNull();
    heads.free(OTHER);
    heads.draft([0, 45, 6, 6]);
    expect(heads.guessedBy()).toBeNull();
  });

  test("is no context that decoded less, or somewhere else, or before the batch in front", () => {
    const heads = prompted();
    for (let i = 0; i < 4; i++) {
      guess(heads, 40 + i, 4);
      guess(heads, 900, 5, 0xb000n);
      heads.draft([0, 40 + i, 6, 6]);
      expect(heads.guessedBy()).toBeNull();
      heads.trim(CONTEXT, { sequence: 0, from: 41 + i, to: -1 });
    }
    guess(heads, 44, 5);
    heads.draft([1, 0, 9, 1]);
    for (let i = 0; i < 4; i++) {
      heads.draft([0, 44, 6, 6]);
      heads.trim(CONTEXT, { sequence: 0, from: 44, to: -1 });
      expect(heads.guessedBy()).toBeNull();
    }
  });

  test("leaves the last token of a prompt of its target to be told", () => {
    const heads = prompted();
    for (let i = 0; i < 3; i++) {
      guess(heads, 40 + i, 5);
      heads.draft([0, 40 + i, 6, 6]);
      heads.trim(CONTEXT, { sequence: 0, from: 41 + i, to: -1 });
    }
    heads.batch([1, 0, 64, 0]);
    expect(heads.batch([1, 64, 1, 1])).toEqual([1]);
    heads.batchOf(0xb000n, [0, 0, 4, 1]);
    heads.batch([2, 0, 64, 0]);
    expect(heads.batch([2, 64, 1, 1])).toEqual([]);
  });
});

describe("the positions that a batch leaves to the engine", () => {
  const firstOf = (heads: ReturnType<typeof driven>, sequence: number) =>
    heads.place(CONTEXT, [{ sequences: [sequence], position: null, tokens: 1, asking: 1 }])?.[0]?.position;

  test("are behind what a sequence was given of another one, and no further", () => {
    const heads = driven();
    heads.batch([0, 0, 40, 1]);
    heads.copy(CONTEXT, 0, 1, 12);
    expect([firstOf(heads, 0), firstOf(heads, 1)]).toEqual([40, 12]);
    heads.copy(CONTEXT, 0, 1, -1);
    expect(firstOf(heads, 1)).toBe(40);
    heads.copy(CONTEXT, 0, 2, 90);
    expect(firstOf(heads, 2)).toBe(40);
  });

  test("are known of sequence 0 alone in a build that may count them over all sequences", () => {
    const heads = cacheHeads(() => true);
    const runs = (sequence: number, position: number | null) => [
      { sequences: [sequence], position, tokens: 4, asking: 1 },
    ];
    expect(heads.place(CONTEXT, runs(0, null))).toBeNull();
    heads.clear(CONTEXT);
    expect(heads.place(CONTEXT, runs(0, null))?.[0]?.position).toBe(0);
    expect(heads.place(CONTEXT, runs(1, null))).toBeNull();
    expect(heads.place(CONTEXT, runs(1, 7))?.[0]?.position).toBe(7);
    heads.advance(CONTEXT, heads.place(CONTEXT, runs(1, 7)), 1n);
    expect(heads.place(CONTEXT, runs(0, null))).toBeNull();
    const others = cacheHeads();
    others.clear(CONTEXT);
    others.advance(CONTEXT, others.place(CONTEXT, runs(1, 7)), 1n);
    expect(others.place(CONTEXT, runs(0, null))?.[0]?.position).toBe(0);
  });

  test("are not known of one that had more before, which may stay or go, or of which nobody knows what it had", () => {
    const heads = driven();
    heads.batch([0, 0, 40, 1]);
    heads.batch([1, 0, 60, 1]);
    heads.copy(CONTEXT, 0, 1, -1);
    expect(firstOf(heads, 1)).toBeUndefined();
    heads.forget(CONTEXT, 2);
    heads.copy(CONTEXT, 0, 2, -1);
    expect(firstOf(heads, 2)).toBeUndefined();
  });

  test("are behind what is left where a sequence ends in a stretch that was taken from its midst", () => {
    const cut = (...changes: readonly ((heads: ReturnType<typeof driven>) => void)[]) => {
      const heads = driven();
      heads.batch([0, 0, 40, 1]);
      for (const change of changes) change(heads);
      return firstOf(heads, 0);
    };
    const trim = (from: number, to: number) => (heads: ReturnType<typeof driven>) =>
      void heads.trim(CONTEXT, { sequence: 0, from, to });
    const shift = (from: number, to: number, positions: number) => (heads: ReturnType<typeof driven>) =>
      heads.shift(CONTEXT, { sequence: 0, from, to }, positions);
    expect([15, 20, 21].map((end) => cut(trim(10, 20), trim(end, -1)))).toEqual([10, 10, 21]);
    expect(cut(trim(10, 20), trim(12, 25), trim(24, -1))).toBe(10);
    expect(cut(trim(0, 10), trim(5, -1))).toBe(0);
    expect(cut(trim(10, 20), shift(20, -1, -10), trim(15, -1))).toBe(15);
    expect(cut(trim(10, 20), shift(30, -1, 5), trim(33, -1))).toBe(30);
    expect(cut(shift(3, 5, 100))).toBe(105);
    expect(cut(shift(0, -1, -40))).toBe(0);
    expect(cut(trim(10, 20), (heads) => void heads.batch([0, 40, 9, 1]), trim(20, -1))).toBe(10);
  });

  test("are those where a sequence was given rows from whose midst some were taken", () => {
    const heads = driven();
    heads.batch([0, 0, 40, 1]);
    heads.trim(CONTEXT, { sequence: 0, from: 10, to: 20 });
    heads.copy(CONTEXT, 0, 1, 15);
    heads.copy(CONTEXT, 0, 2, -1);
    heads.copy(CONTEXT, 0, 3, -1, 30);
    heads.trim(CONTEXT, { sequence: 2, from: 15, to: -1 });
    expect([0, 1, 2, 3].map((id) => firstOf(heads, id))).toEqual([40, 10, 10, 40]);
    heads.trim(CONTEXT, { sequence: 3, from: 30, to: -1 });
    expect(firstOf(heads, 3)).toBe(0);
    heads.keep(CONTEXT, 0);
    heads.trim(CONTEXT, { sequence: 0, from: 20, to: -1 });
    expect([0, 1].map((id) => firstOf(heads, id))).toEqual([10, 0]);
  });

  test("are not known where a sequence has rows of its own that the other one lacks, and nobody knows whether these stay", () => {
    const heads = driven();
    heads.batch([0, 0, 40, 1], [1, 0, 15, 1]);
    heads.trim(CONTEXT, { sequence: 0, from: 10, to: 20 });
    heads.copy(CONTEXT, 0, 1, -1);
    expect(firstOf(heads, 1)).toBeUndefined();
    const shared = driven();
    shared.batch([0, 0, 40, 1], [1, 0, 15, 1]);
    shared.divide(CONTEXT, 1);
    shared.trim(CONTEXT, { sequence: 0, from: 10, to: 20 });
    shared.copy(CONTEXT, 0, 1, -1);
    shared.trim(CONTEXT, { sequence: 1, from: 20, to: -1 });
    expect(firstOf(shared, 1)).toBe(15);
  });

  test("are not known of one of which nobody knows what it has, where a part of that is taken from its begin", () => {
    const heads = driven();
    heads.forget(CONTEXT, 1);
    heads.trim(CONTEXT, { sequence: 1, from: -1, to: 5 });
    heads.shift(CONTEXT, { sequence: 1, from: -1, to: -1 }, -5);
    expect(firstOf(heads, 1)).toBeUndefined();
    heads.batch([1, 30, 2, 1]);
    heads.trim(CONTEXT, { sequence: 1, from: -1, to: 5 });
    heads.shift(CONTEXT, { sequence: 1, from: 5, to: -1 }, -5);
    expect(firstOf(heads, 1)).toBe(27);
  });

  test("are not known behind a batch of which they were not known, whichever sequences it had", () => {
    const heads = driven();
    heads.batch([0, 0, 40, 1]);
    heads.forget(CONTEXT, 1);
    heads.batch([0, null, 1, 1], [1, null, 1, 1]);
    expect([0, 1, 2].map((id) => firstOf(heads, id))).toEqual([undefined, undefined, undefined]);
    heads.batch([0, 41, 1, 1]);
    expect([0, 1].map((id) => firstOf(heads, id))).toEqual([42, undefined]);
  });

  test("are those of each sequence where one is kept in a cache that has cells for each", () => {
    const kept = (streams: number) => {
      const heads = driven();
      heads.batch([0, 0, 40, 1]);
      heads.batch([1, 0, 60, 1]);
      heads.divide(CONTEXT, streams);
      heads.keep(CONTEXT, 0);
      return [firstOf(heads, 0), firstOf(heads, 1), firstOf(heads, 2)];
    };
    expect(kept(1)).toEqual([40, 0, 0]);
    expect(kept(4)).toEqual([40, 60, 0]);
  });

  test("are not known behind what was there before, where one is kept before the cache is known", () => {
    const heads = driven();
    const late = 0x8000n;
    heads.keep(late, 0);
    expect(heads.place(late, [{ sequences: [1], position: null, tokens: 1, asking: 1 }])).toBeNull();
  });
});
