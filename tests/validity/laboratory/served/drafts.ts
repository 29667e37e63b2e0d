/** Drafts of tokens that a larger model checks. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { type Hit, loads, MS, SECOND, trace, traces, words } from "../shapes.ts";
import { between, inside, part, type Step, table, US, whole, world } from "./parts.ts";

export const speculative: WorldKind = {
  name: "a draft of 2 to 8 tokens before each pass of the target, rejected rows written again, 9 s",
  make: (random) => {
    const run = 9 * SECOND;
    const [rowCount, positions] = [500, 9];
    const rows = table(rowCount);
    const steps: Step[] = [];
    const rounds: { begin: number; drafts: number; verify: number; length: number; kept: number }[] = [];
    let drafts = 4;
    let ease = 0.7;
    let row = whole(random, rowCount / 2);
    for (let begin = -20 * MS * random(); begin < run; ) {
      // The text goes on to something harder or easier.
      if (random() < 0.02) ease = between(random, 0.25, 0.95);
      let kept = 0;
      while (kept < drafts && random() < ease) kept += 1;
      const verify = begin + drafts * 2.5 * MS;
      const length = between(random, 11, 13) * MS;
      rounds.push({ begin, drafts, verify, length, kept });
      steps.push({ step: "decode", begin_ns: begin, end_ns: verify + length, n_tokens: kept + 1 });
      const last = Math.min(rowCount - 1, row + drafts);
      for (let r = row; r <= last; r++) rows[r]?.push([verify + 2 * MS + (r - row) * 5 * US, OP.store]);
      for (let r = 0; r <= last; r++) rows[r]?.push([verify + 4 * MS + r * 3 * US, OP.load]);
      row += kept + 1;
      drafts = kept === drafts ? Math.min(8, drafts + 1) : Math.max(2, drafts - 1);
      begin = verify + length + 0.3 * MS;
      if (row < rowCount) continue;
      // Another conversation, after somebody has thought.
      row = 40 + whole(random, 60);
      begin += between(random, 0.1, 0.7) * SECOND;
    }
    const draftWeights = words(() => {
      const place = 2.2 * MS * random();
      return loads(
        rounds.flatMap(({ begin, drafts: many }) =>
          Array.from({ length: many }, (_, k) => begin + k * 2.5 * MS + place),
        ),
        run,
      );
    }, 80);
    const target = words(() => {
      const place = random();
      return loads(
        rounds.map(({ verify, length }) => verify + place * length),
        run,
      );
    }, 240);
    const logits = words((word) => {
      const position = word % positions;
      const place = 100 * US * random();
      return trace(
        rounds.flatMap(({ drafts: many, verify, length, kept }): Hit[] => {
          if (position > many) return [];
          const write: Hit = [verify + length - 400 * US + place, OP.store];
          return position > kept ? [write] : [write, [verify + length - 150 * US + place, OP.load]];
        }),
        run,
      );
    }, positions * 15);
    return world(
      run,
      [
        part("weight", "draft", draftWeights),
        part("weight", "target", target, { repeats: 40 }),
        part("kv_cache", "rows", traces(rows, run), { repeats: 6 }),
        part("activation", "logits", logits),
      ],
      { steps: inside(steps, run), token_period_ns: 8 * MS },
    );
  },
};
