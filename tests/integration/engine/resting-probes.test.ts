import { dlopen, FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Engine, EngineProcess } from "../../../src/engine/engine.ts";
import { capturePlan } from "../../../src/engine/probing/capture-plan.ts";
import { createEngineSession } from "../../../src/engine/probing/session.ts";
import { u32Bytes } from "../../../src/kernel/bpf-map.ts";
import { openBpfObject } from "../../../src/kernel/open-bpf-object.ts";

const LIBC = /\S*\/libc\.so\.6$/m.exec(readFileSync("/proc/self/maps", "utf8"))?.[0] ?? "libc.so.6";
const CALLS = ["lrand48", "mrand48", "jrand48"] as const;

test("a probe that may rest is gone while its process is settled, one on request until it is asked for, and both are put back in the same file", async () => {
  let settled = false;
  let asks = false;
  const taken: number[] = [];
  const state: EngineProcess = {
    useBuild() {},
    take({ probe }) {
      taken.push(probe);
      return "kept";
    },
    look: () => [],
    isSettled: () => settled,
    isAsking: () => asks,
    flush() {},
    takeRows: () => ({ tensors: [], steps: [] }),
    tokenPeriodsNs: () => [],
    kvHeads: () => [],
    liveTensors: () => [],
  };
  const engine: Engine = {
    name: "calls",
    programs: [],
    symbols: CALLS,
    aboutBuild: () => ({}),
    follow: () => state,
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
  };
  using owner = await openBpfObject("engine");
  const targets = owner.map("targets");
  targets.update(u32Bytes(process.pid).subarray(0, 4), new Uint8Array(8));
  const session = await createEngineSession({
    targetsFd: targets.fd,
    openObject: openBpfObject,
    readMemory: () => null,
    engines: [engine],
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
