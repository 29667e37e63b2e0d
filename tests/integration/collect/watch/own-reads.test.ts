import { dlopen, FFIType, ptr } from "bun:ffi";
import { beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { openSync, readSync } from "node:fs";
import { openLifecycle } from "../../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import { capturePlan } from "../../../../src/engine/probing/capture-plan.ts";
import { ownFd } from "../../../../src/kernel/libc.ts";
import { readRemote } from "../../../../src/kernel/remote-memory.ts";
import { createProcessTree } from "../../../../src/target/process-tree.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { probedTargets } from "../../../fixtures/probed-self.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { openBench } from "./bench.ts";

const CALLS = 40;
const ARGUMENTS = new Array<FFIType>(7).fill(FFIType.i64);

setDefaultTimeout(120_000);
beforeEach(registersFree);

test("what our own probes and the tracer read of a watched word is no access of the program", async () => {
  const library = compileProgram("probed-functions", ["-shared", "-fPIC"]);
  using lifecycle = await openLifecycle(null, createProcessTree());
  lifecycle.addProcess(process.pid);
  using bench = await openBench({ targets: lifecycle.targetsFd });
  const read: bigint[] = [];
  const session = await probedTargets(lifecycle.targetsFd, {
    name: "reading",
    symbols: ["marked"],
    state: {
      take({ payload }) {
        read.push(payload.getBigUint64(0, true));
        return "kept";
      },
    },
    probesOf: ({ symbol }) => [
      {
        symbol: "marked",
        offset: BigInt(symbol("marked")?.fileOffset ?? 0),
        probe: 0,
        isReturn: false,
        capture: capturePlan({ form: "bytes", from: 0, bytes: 8 }),
      },
    ],
  });
  try {
    await session.attachObject(library, process.pid);
    const memory = new BigUint64Array(8).fill(11n);
    const addr = BigInt(ptr(memory));
    const { marked } = dlopen(library, { marked: { args: ARGUMENTS, returns: FFIType.i64 } }).symbols;
    const watched = await bench.watch({ pid: process.pid, addr, mode: "rw", trapLimit: 100_000 }, async () => {
      for (let i = 0; i < CALLS; i++) marked(Number(addr), 0, 0, 0, 0, 0, i);
      expect(readRemote(process.pid, addr, 8)).not.toBeNull();
      using memoryFile = ownFd(openSync("/proc/self/mem", "r"));
      expect(readSync(memoryFile.fd, new Uint8Array(8), 0, 8, Number(addr))).toBe(8);
    });
    session.drain();
    expect(read).toEqual(new Array(CALLS).fill(11n));
    expect(watched.traps).toEqual([]);
    expect(watched.state).toMatchObject({ hits: 0, foreign: 0, kernel: 0 });
    // A copy of 8 bytes in the kernel traps once at least.
    expect(watched.state.probed).toBeGreaterThanOrEqual(CALLS);
  } finally {
    session.stop();
  }
});
