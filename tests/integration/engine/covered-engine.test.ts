import { dlopen, FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { capturePlan } from "../../../src/engine/probing/capture-plan.ts";
import { probedSelf, type SelfEngine } from "../../fixtures/probed-self.ts";

const LIBC = /\S*\/libc\.so\.6$/m.exec(readFileSync("/proc/self/maps", "utf8"))?.[0] ?? "libc.so.6";

test("calls of an engine that another one is built on are told once, also where the process is gone before they were read", async () => {
  const taken: string[] = [];
  const engine = (name: string, call: string, builtOn: readonly string[] = []): SelfEngine => ({
    name,
    symbols: [call],
    builtOn,
    state: {
      take() {
        taken.push(name);
        return "kept";
      },
    },
    probesOf: ({ symbol: find }) => [
      {
        symbol: call,
        offset: BigInt(find(call)?.fileOffset ?? 0),
        isReturn: false,
        probe: 0,
        capture: capturePlan(),
      },
    ],
  });
  const session = await probedSelf(engine("lower", "lrand48"), engine("upper", "mrand48", ["lower"]));
  const { symbols } = dlopen(LIBC, {
    lrand48: { returns: FFIType.i64 },
    mrand48: { returns: FFIType.i64 },
  });
  const callBoth = (): void => {
    symbols.lrand48();
    symbols.mrand48();
  };
  try {
    session.drain();
    taken.splice(0);
    await session.attachObject(LIBC, process.pid);
    callBoth();
    session.drain();
    expect(taken.splice(0)).toEqual(["upper"]);
    callBoth();
    session.forget(process.pid);
    session.drain();
    expect(taken.splice(0)).toEqual(["upper"]);
  } finally {
    session.stop();
  }
});
