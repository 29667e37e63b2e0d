import { dlopen, FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Engine, EngineProcess } from "../../../src/engine/engine.ts";
import { capturesOf } from "../../../src/engine/llama-cpp/captures.ts";
import { NEWEST_KNOWN } from "../../../src/engine/llama-cpp/offsets.ts";
import { createEngineSession } from "../../../src/engine/probing/session.ts";
import { u32Bytes } from "../../../src/kernel/bpf-map.ts";
import { openBpfObject } from "../../../src/kernel/open-bpf-object.ts";

const LIBC = /\S*\/libc\.so\.6$/m.exec(readFileSync("/proc/self/maps", "utf8"))?.[0] ?? "libc.so.6";

/** What a server of four slots tells in two seconds: it places 10,000 tensors in each. */
const CALLS = 20_000;

test("the ring holds two seconds of placed tensors that nobody takes", async () => {
  let taken = 0;
  const state: EngineProcess = {
    useBuild() {},
    take() {
      taken += 1;
      return "kept";
    },
    look: () => [],
    isSettled: () => false,
    flush() {},
    takeRows: () => ({ tensors: [], steps: [] }),
    tokenPeriodsNs: () => [],
    kvHeads: () => [],
    liveTensors: () => [],
  };
  const engine: Engine = {
    name: "placed",
    programs: [],
    symbols: ["lrand48"],
    aboutBuild: () => ({}),
    follow: () => state,
    probesOf: ({ symbol }) => [
      {
        symbol: "lrand48",
        offset: BigInt(symbol("lrand48")?.fileOffset ?? 0),
        isReturn: false,
        probe: 0,
        capture: capturesOf(NEWEST_KNOWN).tensor,
      },
    ],
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
  const { symbols } = dlopen(LIBC, { lrand48: { returns: FFIType.i64 } });
  try {
    session.drain();
    taken = 0;
    await session.attachObject(LIBC, process.pid);
    for (let i = 0; i < CALLS; i++) symbols.lrand48();
    session.drain();
    expect(session.account().find(({ stage }) => stage === "ring")?.dropped_by.ring_full ?? 0).toBe(0);
    expect(taken).toBe(CALLS);
  } finally {
    session.stop();
  }
});
