/** Watches on words drawn at random from the live regions, each with the design that its turn asks for. */
import { wholeStratum } from "../../../regions/sampled-stratum.ts";
import type { WatchMode } from "../../../schema/words.ts";
import type { Random } from "../../../statistics/prng.ts";
import { chooseDesign, type Design, type DesignFacts, notAhead } from "./design.ts";
import { createDrawer, type Draw, type DrawRegion, drawWord, frameOf, lineMate } from "./draw.ts";
import type { ResidentWords } from "./frame/resident-words.ts";
import type { BlankTurn, PlannedWatch, Room, WatchChoice } from "./watch-choice.ts";

export interface DrawSources {
  /** Live regions to draw from; the same list object as long as nothing changed. */
  readonly regions: () => readonly DrawRegion[];
  /** Up to when that list knows what came and went; `nowNs` where it is absent. */
  readonly knownUntilNs?: (nowNs: bigint) => bigint;
  /** Ns per token; null without a token axis. */
  readonly tokenPeriodNs: () => number | null;
  /** Rows just ahead of the token axis, as `rowsAhead` lists them; empty without one. */
  readonly rowsAhead: () => readonly DrawRegion[];
  /** Which words are in memory; all of them where it is absent. */
  readonly resident?: ResidentWords;
}

/** A turn that gives a short watch of one register, whatever is watched. */
const SHORT = { turn: 0.5, regionType: "unknown", hasRowsAhead: false, needsPair: false } as const;

/** What a turn gives, and the share of the turns of its stratum that go to its words whatever is written next. */
interface Choice {
  readonly design: Design;
  readonly share: number;
}

/** A turn that waits for registers. */
interface Pending {
  readonly draw: Draw;
  readonly turn: number;
  /** What waits for registers of its kinds; null where it is chosen when enough are free. */
  readonly choice: Choice | null;
  readonly from: readonly DrawRegion[];
  /** True where the bytes that were drawn are no more. */
  readonly isGone: boolean;
}

/** Modes of the watches of a turn: those of a cohort begin together. */
const modesOf = ({ name, mode }: Design): readonly WatchMode[] => (name === "cohort" ? [mode, mode] : [mode]);

/** @param random decides draws and designs; nothing else may take from it */
export function drawnWatches(sources: DrawSources, random: Random): WatchChoice {
  const drawer = createDrawer(random, sources.resident);
  const needsPair = new Set<string>();
  let pending: Pending | null = null;

  function factsOf({ region }: Draw, turn: number, hasRowsAhead: boolean, room: Room): DesignFacts {
    return {
      turn,
      regionType: region.region_type,
      tokenPeriodNs: sources.tokenPeriodNs(),
      elapsedNs: room.elapsedNs,
      registers: room.registers,
      freeRegisters: room.freeRegisters,
      longRegisters: room.longRegisters,
      longestNs: room.longestNs,
      hasRowsAhead,
      needsPair: needsPair.has(region.stratum),
    };
  }

  function choose(facts: DesignFacts): Choice | null {
    const design = chooseDesign(facts, random);
    return design === null ? null : { design, share: notAhead(facts) };
  }

  /** What the turn of this draw waits for: chosen anew at each look, it would be what there are registers for. */
  function waitingFor({ region }: Draw): Choice | null {
    return pending?.draw.region.stratum === region.stratum ? pending.choice : null;
  }

  /**
   * What waits, or the next draw. Where memory came or went, a turn that waits gets another word of its stratum and waits on: a new
   * turn might need no more registers than are free and begin at once, so that moments after such changes would be watched too often.
   */
  function drawFrom(regions: readonly DrawRegion[]): Draw | null {
    if (pending === null) return drawer.draw(regions);
    if (pending.from === regions && !pending.isGone) return pending.draw;
    return drawer.drawAgain(regions, pending.draw.region.stratum) ?? drawer.draw(regions);
  }

  /**
   * What a turn gives while nothing is there: a short watch of nothing. Where turns waited for memory instead, they would all
   * begin when it comes, and its first moments would be watched too often.
   */
  function blank(room: Room): BlankTurn | null {
    const facts = { ...SHORT, ...room, tokenPeriodNs: sources.tokenPeriodNs() };
    const design = chooseDesign(facts, random);
    return design === null ? null : { draw: null, design };
  }

  /** The rows ahead of the stratum of a draw: one tensor of a cache may lie in rows while the other does not, and has all of its turns for its words. */
  function aheadOf({ region }: Draw): readonly DrawRegion[] {
    if (region.region_type !== "kv_cache") return [];
    const stratum = wholeStratum(region.stratum);
    return sources.rowsAhead().filter((one) => one.stratum === stratum);
  }

  /** The words of a draw that its design watches. */
  function wordsOf(draw: Draw, design: Design, ahead: readonly DrawRegion[]): PlannedWatch[] {
    if (design.name === "cohort") {
      const mate = lineMate(draw, random);
      return mate === null ? [{ draw, design }] : [draw, mate].map((one) => ({ draw: one, design }));
    }
    if (design.name !== "ahead") return [{ draw, design }];
    const inFrame = drawWord(frameOf(ahead), random, draw.drawWeight);
    return inFrame === null ? [] : [{ draw: inFrame, design }];
  }

  return {
    isBudgeted: true,
    next(room) {
      const regions = sources.regions();
      const draw = regions.length === 0 ? null : drawFrom(regions);
      if (draw === null) {
        // Another stratum has the turn at the next look.
        if (regions.length > 0 && !drawer.findsNothing()) return null;
        pending = null;
        const turn = blank(room);
        return turn === null ? null : [turn];
      }
      const turn = pending?.turn ?? random();
      const ahead = aheadOf(draw);
      const choice = waitingFor(draw) ?? choose(factsOf(draw, turn, ahead.length > 0, room));
      const isReady = choice !== null && room.isReady(modesOf(choice.design));
      // The draw waits for its registers: another in its place would be a choice by what is running.
      pending = isReady ? null : { draw, turn, choice, from: regions, isGone: false };
      if (choice === null || !isReady) return null;
      const { design, share } = choice;
      // What a turn may give to the rows ahead it does not give to the other words.
      const drawWeight = draw.drawWeight * (design.name === "ahead" ? 1 : share);
      return wordsOf({ ...draw, drawWeight }, design, ahead);
    },
    learn(stratum, { mode, seen }) {
      if (seen.undecided > 0) needsPair.add(stratum);
      else if (seen.traps > 0 && mode === "pair") needsPair.delete(stratum);
    },
    forget(isGone) {
      if (pending === null) return;
      const { region, addr, sizeBytes } = pending.draw;
      pending = { ...pending, isGone: pending.isGone || isGone(region.pid, addr, sizeBytes, region) };
    },
  };
}
