/** What one finished watch saw: its traps as accesses in order of time. */

import type { AccessDecoder, DecodedAccess } from "../../../code/trap-operation.ts";
import type { AccessOp, OpEvidence, WatchMode } from "../../../schema/words.ts";
import { pairTraps } from "./pairing.ts";
import type { Trap } from "./traps.ts";

export interface SeenAccess {
  readonly trap: Trap;
  readonly op: AccessOp;
  readonly evidence: OpEvidence;
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

/** The traps of one copy in the kernel, where nothing tells its end; a host may take the virtual CPU away in it. */
const KERNEL_COPY_NS = 1_000_000n;
const LONGEST_INSTRUCTION_BYTES = 15n;
const LONGEST_ELEMENT_BYTES = 64n;

/** How a register went from one trap to the next: 1 an element on, -1 back to where a string begins, 0 elsewhere. */
function movement(from: bigint, after: bigint, watched: WatchedBytes): number {
  const near = after - watched.addr;
  if (near > BigInt(watched.sizeBytes) + LONGEST_ELEMENT_BYTES || -near > LONGEST_ELEMENT_BYTES || after === from)
    return 0;
  return after > from && after - from <= LONGEST_ELEMENT_BYTES ? 1 : -1;
}

/**
 * Where `next` is the same string instruction as `last` some elements further: what the instruction does to the watched
 * bytes, by the register that moves over them. Null where `next` is another access.
 */
function burstOp(last: Judged, next: Judged, watched: WatchedBytes): AccessOp | null {
  const a = last.trap;
  const b = next.trap;
  if (a.inKernel !== b.inKernel || last.op !== next.op) return null;
  // A repeated instruction that has not ended goes on, however long its thread has to wait for a CPU.
  if (a.inKernel ? b.timeNs - a.timeNs > KERNEL_COPY_NS : !last.decoded.repeated) return null;
  if (b.ip < a.ip || b.ip - a.ip > LONGEST_INSTRUCTION_BYTES) return null;
  const si = last.op === "store" ? 0 : movement(a.registerSi, b.registerSi, watched);
  const di = last.op === "load" ? 0 : movement(a.registerDi, b.registerDi, watched);
  if (si < 0 || di < 0 || si + di === 0) return null;
  return si > 0 && di > 0 ? "unknown" : si > 0 ? "load" : "store";
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
  const bursts: { first: Judged; last: Judged; op: AccessOp | null }[] = [];
  const burstOf = new Map<number, (typeof bursts)[number]>();
  for (const next of judged) {
    const burst = burstOf.get(next.trap.tid);
    const op = burst ? burstOp(burst.last, next, watched) : null;
    if (burst && op !== null) {
      burst.last = next;
      burst.op = op;
      continue;
    }
    const begun = { first: next, last: next, op: null };
    bursts.push(begun);
    burstOf.set(next.trap.tid, begun);
  }
  const compared = watched.mode === "pair" ? bursts.filter(({ first }) => first.decoded.op !== "unknown") : [];
  const agreed = compared.filter(({ first }) => (first.decoded.op === "load") === (first.op === "load")).length;
  const accesses = bursts.map(({ first: { trap, op, evidence }, op: moved }): SeenAccess => {
    const byRegisters = op === "unknown" && moved !== null && moved !== "unknown";
    return byRegisters ? { trap, op: moved, evidence: "registers" } : { trap, op, evidence };
  });
  return {
    accesses,
    traps: judged.length,
    kernelTraps: judged.filter(({ trap }) => trap.inKernel).length,
    outside: all.length - inside.length,
    collapsed: judged.length - accesses.length,
    unpaired,
    twins: traps.length - all.length - unpaired,
    compared: compared.length,
    agreed,
    undecided: judged.filter(({ trap, decoded }) => !trap.inKernel && decoded.op === "unknown").length,
  };
}
