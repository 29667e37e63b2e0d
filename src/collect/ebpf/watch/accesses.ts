/** What one finished watch saw: its traps as accesses in order of time. */
import type { WatchMode } from "./arm.ts";
import type { AccessDecoder, DecodedAccess } from "./decode.ts";
import type { AccessOp } from "./instruction.ts";
import { pairTraps } from "./pairing.ts";
import type { Trap } from "./traps.ts";

export interface SeenAccess {
  readonly trap: Trap;
  readonly op: AccessOp;
  readonly evidence: "decoded" | "pair" | "registers" | "none";
}

export interface WatchedBytes {
  readonly pid: number;
  readonly addr: bigint;
  readonly sizeBytes: number;
  readonly mode: WatchMode;
  /** Exposure; traps outside it are left out. */
  readonly beginNs: bigint;
  readonly endNs: bigint;
}

export interface SeenAccesses {
  readonly accesses: readonly SeenAccess[];
  /** Traps inside the exposure, before the bursts of one instruction were made one access. */
  readonly traps: number;
  readonly kernelTraps: number;
  /** Traps outside the exposure. */
  readonly outside: number;
  /** Traps that belonged to the burst of the access before. */
  readonly collapsed: number;
  readonly unpaired: number;
  /** Rows of a pair's write register: their twins carry the access. */
  readonly twins: number;
  /** Pairs that decoding could be compared with, and those where it agreed. */
  readonly compared: number;
  readonly agreed: number;
  /** Traps in the program's own code that decoding could not tell. */
  readonly undecided: number;
}

interface Judged extends SeenAccess {
  readonly decoded: DecodedAccess;
}

/** Two traps of one string instruction are a trap apart; a trap takes well below this. */
const BURST_NS = 200_000n;
const LONGEST_INSTRUCTION_BYTES = 15n;
const LONGEST_ELEMENT_BYTES = 64n;

function advanced(from: bigint, to: bigint): boolean {
  const step = to > from ? to - from : from - to;
  return step > 0n && step <= LONGEST_ELEMENT_BYTES;
}

/** True where `next` is the same string instruction as `last`, some elements further. */
function continues(last: Judged, next: Judged): boolean {
  const a = last.trap;
  const b = next.trap;
  const still = a.inKernel ? b.inKernel : last.decoded.repeated;
  if (!still || next.evidence === "none" || last.op !== next.op || a.tid !== b.tid) return false;
  if (b.timeNs - a.timeNs > BURST_NS || b.ip < a.ip || b.ip - a.ip > LONGEST_INSTRUCTION_BYTES) return false;
  if (!a.inKernel && next.decoded.evidence !== "registers") return false;
  return next.op === "load" ? advanced(a.registerSi, b.registerSi) : advanced(a.registerDi, b.registerDi);
}

function judge(trap: Trap, isWrite: boolean, watched: WatchedBytes, decode: AccessDecoder): Judged {
  const decoded = decode({ ...trap, pid: watched.pid, addr: watched.addr, sizeBytes: watched.sizeBytes });
  const writes = decoded.op === "store" || decoded.op === "load_store";
  if (watched.mode === "pair") {
    const op = isWrite ? (decoded.op === "load_store" ? "load_store" : "store") : "load";
    return { trap, op, evidence: "pair", decoded };
  }
  // Only a write makes a write register trap, whatever decoding says.
  if (watched.mode === "w" && !writes) return { trap, op: "store", evidence: "registers", decoded };
  return { trap, op: decoded.op, evidence: decoded.evidence, decoded };
}

/** Judges, merges and orders the traps of one watch. */
export function seenAccesses(traps: readonly Trap[], watched: WatchedBytes, decode: AccessDecoder): SeenAccesses {
  const { accesses: all, unpaired } =
    watched.mode === "pair"
      ? pairTraps(traps)
      : { accesses: traps.map((trap) => ({ trap, isWrite: false })), unpaired: 0 };
  const inside = all
    .filter(({ trap }) => trap.timeNs >= watched.beginNs && trap.timeNs <= watched.endNs)
    .sort((a, b) => Number(a.trap.timeNs - b.trap.timeNs));
  const judged = inside.map(({ trap, isWrite }) => judge(trap, isWrite, watched, decode));
  const accesses: SeenAccess[] = [];
  const lastOf = new Map<number, Judged>();
  let compared = 0;
  let agreed = 0;
  for (const next of judged) {
    const last = lastOf.get(next.trap.tid);
    lastOf.set(next.trap.tid, next);
    if (last && continues(last, next)) continue;
    accesses.push({ trap: next.trap, op: next.op, evidence: next.evidence });
    if (watched.mode !== "pair" || next.decoded.op === "unknown") continue;
    compared += 1;
    if ((next.decoded.op === "load") === (next.op === "load")) agreed += 1;
  }
  return {
    accesses,
    traps: judged.length,
    kernelTraps: judged.filter(({ trap }) => trap.inKernel).length,
    outside: all.length - inside.length,
    collapsed: judged.length - accesses.length,
    unpaired,
    twins: traps.length - all.length - unpaired,
    compared,
    agreed,
    undecided: judged.filter(({ trap, decoded }) => !trap.inKernel && decoded.op === "unknown").length,
  };
}
