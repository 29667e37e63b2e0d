import { dlopen, FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import { capturePlan } from "../../../src/engine/probing/capture-plan.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { probedSelf } from "../../fixtures/probed-self.ts";

const CALLS = 20;
/** Of the last the return is not probed. */
const NAMES = ["marked", "stepped", "tested", "aligned"] as const;
const RETURNING = NAMES.slice(0, -1);
/** The argument that lies on the stack. */
const SEVENTH = capturePlan({ form: "bytes", from: "structure", bytes: 8 });
const NONE = capturePlan();

test.skipIf(process.arch !== "x64")(
  "functions are probed where the kernel carries out what it replaced, with their arguments and returns, and where it cannot that is counted",
  async () => {
    const library = compileProgram("probed-functions", ["-shared", "-fPIC"]);
    const entries = new Map<number, number[][]>();
    const returned = new Map<number, number[]>();
    const session = await probedSelf({
      name: "summing",
      symbols: NAMES,
      state: {
        take({ probe, args, isReturn, payload }) {
          if (isReturn) returned.set(probe, [...(returned.get(probe) ?? []), Number(args[0])]);
          else {
            const all = [...args.map(Number), Number(payload.getBigInt64(0, true))];
            entries.set(probe, [...(entries.get(probe) ?? []), all]);
          }
          return "kept";
        },
      },
      probesOf: ({ symbol }) =>
        NAMES.flatMap((name, probe) => {
          const place = { symbol: name, offset: BigInt(symbol(name)?.fileOffset ?? 0), probe };
          const entry = { ...place, isReturn: false, capture: SEVENTH };
          return name === "aligned" ? [entry] : [{ ...place, isReturn: true, capture: NONE }, entry];
        }),
    });
    const sum = { args: new Array<FFIType>(7).fill(FFIType.i64), returns: FFIType.i64 };
    const { symbols } = dlopen(library, { marked: sum, stepped: sum, tested: sum, aligned: sum });
    const numbers = Array.from({ length: CALLS }, (_, i) => i);
    try {
      await session.attachObject(library, process.pid);
      for (const i of numbers)
        for (const name of NAMES) expect(Number(symbols[name](1, 2, 3, 4, 5, 6, i))).toBe(21 + i);
      session.drain();
      for (const probe of NAMES.keys()) expect(entries.get(probe)).toEqual(numbers.map((i) => [1, 2, 3, 4, 5, i]));
      for (const probe of RETURNING.keys()) expect(returned.get(probe)).toEqual(numbers.map((i) => 21 + i));
      // The entries of one of them are stepped over.
      const hits = (NAMES.length + RETURNING.length) * CALLS;
      expect(session.hitCost()).toMatchObject({ hits, stepped: CALLS });
    } finally {
      session.stop();
    }
  },
);
