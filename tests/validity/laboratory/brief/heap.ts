/** Memory as an allocator gives it: places of one size are used again when they are free. */
import type { RegionType } from "../../../../src/schema/words.ts";
import type { World, WorldStratum } from "../../../../src/simulate/world.ts";
import { inside, part, type Step, world } from "../served/parts.ts";
import { type Hit, traces } from "../shapes.ts";
import { meanDecode } from "./steps.ts";

export interface Heap {
  /** Memory that comes and goes, by the accesses of each of its words. */
  readonly lives: (
    region_type: RegionType,
    name: string,
    life: readonly [born: number, freed: number],
    words: readonly Hit[][],
  ) => void;
  /** Memory that is there in the whole run. */
  readonly stays: (region_type: RegionType, name: string, words: readonly Hit[][], repeats?: number) => void;
  /** The world of all that memory; a token takes as long as a decode step in the mean where nothing else is said. */
  readonly world: (steps: readonly Step[], token_period_ns?: number) => World;
}

/** Accesses at whole ns. */
const rounded = (words: readonly Hit[][]): Hit[][] =>
  words.map((hits) => hits.map(([time, op]): Hit => [Math.round(time), op]));

/** @throws where a word is used before it is born or after it is freed */
function inLife(words: readonly Hit[][], name: string, born: number, freed: number): Hit[][] {
  const outside = words.flat().find(([time]) => time < born - 1 || time > freed + 1);
  if (outside !== undefined) throw new Error(`${name} of ${born} to ${freed} ns is used at ${outside[0]} ns`);
  return rounded(words).map((hits) => hits.map(([time, op]): Hit => [Math.min(freed - 1, Math.max(born, time)), op]));
}

export function heapOver(run: number): Heap {
  const strata: WorldStratum[] = [];
  const given = new Map<string, { readonly place: number; readonly freed: number }[]>();
  let places = 0;
  /** A place that is free when memory is born; a new one where there is none. */
  const placeOf = (kind: string, born: number, freed: number): number => {
    const list = given.get(kind) ?? [];
    given.set(kind, list);
    const free = list.findIndex((one) => one.freed <= born);
    const place = (free < 0 ? undefined : list.splice(free, 1)[0]?.place) ?? places++;
    list.push({ place, freed });
    return place;
  };
  return {
    lives: (region_type, name, life, words) => {
      const [born, freed] = [Math.round(life[0]), Math.round(life[1])];
      if (born >= run || freed <= 0) return;
      const list = traces(inLife(words, name, born, freed), run);
      const place = placeOf(`${region_type}/${name}/${words.length}`, born, freed);
      strata.push(part(region_type, name, list, { place, life_ns: [born, freed] }));
    },
    stays: (region_type, name, words, repeats = 1) => {
      strata.push(part(region_type, name, traces(rounded(words), run), { place: places++, repeats }));
    },
    world: (steps, token_period_ns = meanDecode(steps)) => {
      const atWholeNs = steps.map((step) => ({
        ...step,
        begin_ns: Math.round(step.begin_ns),
        end_ns: Math.round(step.end_ns),
      }));
      return world(run, strata, { steps: inside(atWholeNs, run), token_period_ns });
    },
  };
}
