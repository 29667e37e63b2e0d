import { dlopen, FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { capturesOf } from "../../../src/engine/llama-cpp/captures.ts";
import { NEWEST_KNOWN } from "../../../src/engine/llama-cpp/offsets.ts";
import { probedSelf } from "../../fixtures/probed-self.ts";

const LIBC = /\S*\/libc\.so\.6$/m.exec(readFileSync("/proc/self/maps", "utf8"))?.[0] ?? "libc.so.6";

/** What a server of four slots tells in two seconds: it places 10,000 tensors in each. */
const CALLS = 20_000;

test("the ring holds two seconds of placed tensors that nobody takes", async () => {
  let taken = 0;
  const session = await probedSelf({
    name: "placed",
    symbols: ["lrand48"],
    state: {
      take() {
        taken += 1;
        return "kept";
      },
    },
    probesOf: ({ symbol }) => [
      {
        symbol: "lrand48",
        offset: BigInt(symbol("lrand48")?.fileOffset ?? 0),
        isReturn: false,
        probe: 0,
        capture: capturesOf(NEWEST_KNOWN).tensor,
      },
    ],
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
