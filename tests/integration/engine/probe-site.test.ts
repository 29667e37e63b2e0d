import { dlopen, FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import type { Engine, EngineProcess } from "../../../src/engine/engine.ts";
import { capturePlan } from "../../../src/engine/probing/capture-plan.ts";
import type { RawRecord } from "../../../src/engine/probing/raw-record.ts";
import { createEngineSession } from "../../../src/engine/probing/session.ts";
import { u32Bytes } from "../../../src/kernel/bpf-map.ts";
import { openBpfObject } from "../../../src/kernel/open-bpf-object.ts";
import { compileProgram } from "../../fixtures/compile.ts";

const CALLS = 20;
const NAMES = ["marked", "stepped"] as const;
const PLAN = capturePlan();

test.skipIf(process.arch !== "x64")(
  "functions are probed where the kernel carries out what it replaced, with their arguments and returns, and what it cannot is counted",
  async () => {
    const library = compileProgram("probed-functions", ["-shared", "-fPIC", "-Wno-unused-parameter"]);
    const records: RawRecord[] = [];
    const state: EngineProcess = {
      useBuild() {},
      take(record) {
        records.push(record);
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
      name: "summing",
      programs: [],
      symbols: NAMES,
      aboutBuild: () => ({}),
      follow: () => state,
      probesOf: ({ symbol }) =>
        NAMES.flatMap((name, i) => {
          const offset = BigInt(symbol(name)?.fileOffset ?? 0);
          return [true, false].map((isReturn) => ({ symbol: name, offset, isReturn, probe: i, capture: PLAN }));
        }),
    };
    using owner = await openBpfObject("engine");
    const targets = owner.map("targets");
    targets.update(u32Bytes(process.pid).subarray(0, 4), new Uint8Array(8));
    const openObject = openBpfObject;
    const session = await createEngineSession({
      targetsFd: targets.fd,
      openObject,
      readMemory: () => null,
      engines: [engine],
    });
    const sum = { args: new Array<FFIType>(7).fill(FFIType.i64), returns: FFIType.i64 };
    const { symbols } = dlopen(library, { marked: sum, stepped: sum });
    try {
      await session.attachObject(library, process.pid);
      for (let i = 0; i < CALLS; i++) for (const name of NAMES) symbols[name](1, 2, 3, 4, 5, 6, i);
      session.drain();
      for (const [probe] of NAMES.entries()) {
        const ofOne = records.filter((record) => record.probe === probe);
        const entries = ofOne.filter(({ isReturn }) => !isReturn);
        expect(entries.map(({ args }) => args.slice(0, 5).map(Number))).toEqual(new Array(CALLS).fill([1, 2, 3, 4, 5]));
        const returned = ofOne.filter(({ isReturn }) => isReturn).map(({ args }) => Number(args[0]));
        expect(returned).toEqual(Array.from({ length: CALLS }, (_, i) => 21 + i));
      }
      // The entries of one of both functions are stepped over.
      expect(session.hitCost()).toMatchObject({ hits: 4 * CALLS, stepped: CALLS });
    } finally {
      session.stop();
    }
  },
);
