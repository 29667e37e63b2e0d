import { dlopen, FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Presence } from "../../../src/engine/engine.ts";
import { capturePlan } from "../../../src/engine/probing/capture-plan.ts";
import { probedSelf } from "../../fixtures/probed-self.ts";

const LIBC = /\S*\/libc\.so\.6$/m.exec(readFileSync("/proc/self/maps", "utf8"))?.[0] ?? "libc.so.6";
const CALLS = ["lrand48", "mrand48", "jrand48", "nrand48"] as const;
const PRESENCE: readonly (Presence | undefined)[] = ["rests", undefined, "onRequest", "graphSteps"];

test("a probe that may rest is gone while its process is settled, one on request until it is asked for, one of graphs once a call decodes, and all are put back in the same file", async () => {
  let settled = false;
  let asks = false;
  let called = false;
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
      hasCalled: () => called,
    },
    probesOf: ({ symbol: find }) =>
      CALLS.map((symbol, probe) => ({
        symbol,
        offset: BigInt(find(symbol)?.fileOffset ?? 0),
        isReturn: false,
        probe,
        capture: capturePlan(),
        ...(PRESENCE[probe] === undefined ? {} : { presence: PRESENCE[probe] }),
      })),
  });
  const { symbols } = dlopen(LIBC, {
    lrand48: { returns: FFIType.i64 },
    mrand48: { returns: FFIType.i64 },
    jrand48: { args: [FFIType.ptr], returns: FFIType.i64 },
    nrand48: { args: [FFIType.ptr], returns: FFIType.i64 },
  });
  const seed = new Uint16Array(3);
  const callAll = (): number[] => {
    symbols.lrand48();
    symbols.mrand48();
    symbols.jrand48(seed);
    symbols.nrand48(seed);
    session.drain();
    return taken.splice(0).sort();
  };
  /** What is called once those that another thread takes away are gone. */
  const calledOnceGone = async (probes: readonly number[]): Promise<number[]> => {
    for (let i = 0; i < 1000 && callAll().join() !== probes.join(); i++) await Bun.sleep(2);
    return callAll();
  };
  try {
    // What one probe costs was measured on calls of this process.
    session.drain();
    taken.splice(0);
    await session.attachObject(LIBC, process.pid);
    expect(callAll()).toEqual([0, 1, 3]);
    settled = true;
    session.drain();
    expect(await calledOnceGone([1, 3])).toEqual([1, 3]);
    called = true;
    session.drain();
    expect(await calledOnceGone([1])).toEqual([1]);
    settled = false;
    session.drain();
    expect(callAll()).toEqual([0, 1]);
    asks = true;
    session.drain();
    expect(callAll()).toEqual([0, 1, 2]);
    asks = false;
    called = false;
    session.drain();
    expect(await calledOnceGone([0, 1, 3])).toEqual([0, 1, 3]);
    expect(session.account().find(({ stage }) => stage === "attach")).toMatchObject({ kept: 4, dropped: 0 });
  } finally {
    session.stop();
  }
});
