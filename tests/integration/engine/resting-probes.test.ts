import { dlopen, FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { capturePlan } from "../../../src/engine/probing/capture-plan.ts";
import { probedSelf } from "../../fixtures/probed-self.ts";

const LIBC = /\S*\/libc\.so\.6$/m.exec(readFileSync("/proc/self/maps", "utf8"))?.[0] ?? "libc.so.6";
const CALLS = ["lrand48", "mrand48", "jrand48"] as const;

test("a probe that may rest is gone while its process is settled, one on request until it is asked for, and both are put back in the same file", async () => {
  let settled = false;
  let asks = false;
  const taken: number[] = [];
  const session = await probedSelf({
    name: "calls",
    symbols: CALLS,
    state: {
      take({ probe }) {
        taken.push(probe);
        return "kept";
      },
      isSettled: () => settled,
      isAsking: () => asks,
    },
    probesOf: ({ symbol: find }) =>
      CALLS.map((symbol, probe) => ({
        symbol,
        offset: BigInt(find(symbol)?.fileOffset ?? 0),
        isReturn: false,
        probe,
        capture: capturePlan(),
        ...(probe === 0 ? { rests: true } : {}),
        ...(probe === 2 ? { onRequest: true } : {}),
      })),
  });
  const { symbols } = dlopen(LIBC, {
    lrand48: { returns: FFIType.i64 },
    mrand48: { returns: FFIType.i64 },
    jrand48: { args: [FFIType.ptr], returns: FFIType.i64 },
  });
  const seed = new Uint16Array(3);
  const callAll = (): number[] => {
    symbols.lrand48();
    symbols.mrand48();
    symbols.jrand48(seed);
    session.drain();
    return taken.splice(0).sort();
  };
  try {
    // What one probe costs was measured on calls of this process.
    session.drain();
    taken.splice(0);
    await session.attachObject(LIBC, process.pid);
    expect(callAll()).toEqual([0, 1]);
    settled = true;
    session.drain();
    expect([callAll(), callAll()]).toEqual([[1], [1]]);
    settled = false;
    session.drain();
    expect(callAll()).toEqual([0, 1]);
    asks = true;
    session.drain();
    expect(callAll()).toEqual([0, 1, 2]);
    asks = false;
    session.drain();
    expect(callAll()).toEqual([0, 1]);
    expect(session.account().find(({ stage }) => stage === "attach")).toMatchObject({ kept: 3, dropped: 0 });
  } finally {
    session.stop();
  }
});
