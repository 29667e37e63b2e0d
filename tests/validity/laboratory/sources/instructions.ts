/** Programs as loads and stores, one after the other, with the cycles and the instructions that each takes: exact, and told to samplers. */
import { OP } from "../../../../src/schema/operation.ts";
import type { Random } from "../../../../src/statistics/prng.ts";

export interface Buffer {
  readonly region_type: "weight" | "kv_cache" | "activation";
  readonly addr: number;
  readonly size_bytes: number;
}

/** Takes one access; `cycles` until the next one, `ops` instructions with it. */
export type TakeAccess = (buffer: number, addr: number, op: number, cycles: number, ops: number) => void;

export interface Program {
  readonly name: string;
  readonly buffers: readonly Buffer[];
  readonly tokens: number;
  /** Gives the accesses of one token. */
  readonly token: (token: number, random: Random, take: TakeAccess) => void;
}

const MIB = 1 << 20;
const KIB = 1024;
const LINE = 64;
const [WEIGHTS, CACHE, STATE] = [0, 1, 2];

const buffers: readonly Buffer[] = [
  { region_type: "weight", addr: 2 ** 40, size_bytes: MIB },
  { region_type: "kv_cache", addr: 2 ** 41, size_bytes: 256 * KIB },
  { region_type: "activation", addr: 2 ** 42, size_bytes: 64 * KIB },
];
const addrOf = (buffer: number, offset: number): number =>
  (buffers[buffer]?.addr ?? 0) + (offset % (buffers[buffer]?.size_bytes ?? 1));

/** Rows of one token in the cache. */
const ROW_BYTES = 1024;

/** The cache: a row is written in each token, and all that were are read. */
function attend(token: number, take: TakeAccess): void {
  for (let at = 0; at < ROW_BYTES; at += 8) take(CACHE, addrOf(CACHE, token * ROW_BYTES + at), OP.store, 1, 3);
  for (let row = 0; row <= token; row++) {
    for (let at = 0; at < ROW_BYTES; at += 32) take(CACHE, addrOf(CACHE, row * ROW_BYTES + at), OP.load, 4, 4);
  }
}

const TOKENS = 100;

/** Weights, cache and activations one after the other, as operators run. */
const byTurns: Program = {
  name: "operators by turns",
  buffers,
  tokens: TOKENS,
  token(token, _, take) {
    for (let at = 0; at < MIB; at += LINE) take(WEIGHTS, addrOf(WEIGHTS, at), OP.load, 20, 5);
    attend(token, take);
    for (let at = 0; at < 64 * KIB; at += 32) take(STATE, addrOf(STATE, at), OP.store, 2, 3);
    for (let at = 0; at < 64 * KIB; at += 32) take(STATE, addrOf(STATE, at), OP.load, 2, 3);
  },
};

/** A matrix times a vector: a slow load of weights beside a quick one of the vector, each time. */
const mingled: Program = {
  name: "weights and activations read by turns",
  buffers,
  tokens: TOKENS,
  token(token, _, take) {
    for (let at = 0; at < MIB; at += LINE) {
      take(WEIGHTS, addrOf(WEIGHTS, at), OP.load, 20, 2);
      take(STATE, addrOf(STATE, at / 4), OP.load, 1, 2);
      if (at % 1024 === 0) take(STATE, addrOf(STATE, at / 16), OP.store, 1, 2);
    }
    attend(token, take);
  },
};

/** One line in twenty takes nearly all accesses to the activations, and half of the weights are hardly used. */
const hot: Program = {
  name: "hot and cold lines",
  buffers,
  tokens: TOKENS,
  token(token, random, take) {
    for (let at = 0; at < MIB / 2; at += LINE) take(WEIGHTS, addrOf(WEIGHTS, at), OP.load, 20, 5);
    for (let i = 0; i < 100; i++)
      take(WEIGHTS, addrOf(WEIGHTS, MIB / 2 + LINE * Math.floor((random() * MIB) / 2 / LINE)), OP.load, 80, 5);
    attend(token, take);
    for (let i = 0; i < 4000; i++) {
      const lines = (64 * KIB) / LINE;
      const line = Math.floor(random() * (random() < 0.95 ? lines / 20 : lines));
      take(STATE, addrOf(STATE, line * LINE), i % 4 === 0 ? OP.store : OP.load, 2, 3);
    }
  },
};

export const PROGRAMS: readonly Program[] = [byTurns, mingled, hot];
