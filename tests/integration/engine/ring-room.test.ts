import { dlopen, FFIType } from "bun:ffi";
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { capturesOf } from "../../../src/engine/llama-cpp/captures.ts";
import { type DecodedBatch, decodeBatch } from "../../../src/engine/llama-cpp/decode-step.ts";
import { NEWEST_KNOWN } from "../../../src/engine/llama-cpp/offsets.ts";
import type { RawRecord } from "../../../src/engine/probing/raw-record.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { probedSelf } from "../../fixtures/probed-self.ts";

const LIBC = /\S*\/libc\.so\.6$/m.exec(readFileSync("/proc/self/maps", "utf8"))?.[0] ?? "libc.so.6";

/** A session with one probe of this process, at the entry of a function, and what is made of its records. */
const probedAt = (function_name: string, capture: "tensor" | "batch", take: (record: RawRecord) => void) =>
  probedSelf({
    name: capture,
    symbols: [function_name],
    state: {
      take(record) {
        take(record);
        return "kept";
      },
    },
    probesOf: ({ symbol }) => [
      {
        symbol: function_name,
        offset: BigInt(symbol(function_name)?.fileOffset ?? 0),
        isReturn: false,
        probe: 0,
        capture: capturesOf(NEWEST_KNOWN)[capture],
      },
    ],
  });

/** What a server of four slots tells in two seconds: it places 10,000 tensors in each. */
const CALLS = 20_000;

test("the ring holds two seconds of placed tensors that nobody takes", async () => {
  let taken = 0;
  const session = await probedAt("lrand48", "tensor", () => {
    taken += 1;
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

describe("batches that a function is given by value", () => {
  /** As many calls as wished for, each with a batch of so many tokens that are of a sequence each; nobody takes the records before the end. */
  async function handedOver(calls: number, tokens: number) {
    const library = compileProgram("many-batches", ["-shared", "-fPIC"]);
    const batches: (DecodedBatch | null)[] = [];
    const session = await probedAt("take_batch", "batch", ({ payload, unreadable }) => {
      batches.push(decodeBatch(payload, unreadable));
    });
    const { symbols } = dlopen(library, { many_batches: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 } });
    try {
      await session.attachObject(library, process.pid);
      expect(symbols.many_batches(calls, tokens)).toBe(0);
      session.drain();
      const ring = session.account().find(({ stage }) => stage === "ring");
      return { batches, dropped: ring?.dropped_by.ring_full ?? 0 };
    } finally {
      session.stop();
    }
  }

  test("are told of four seconds of a server of two slots at 7,000 tokens a second, though nobody takes a record", async () => {
    const { batches, dropped } = await handedOver(14_000, 2);
    expect(dropped).toBe(0);
    expect(batches.length).toBe(14_000);
  });

  test.each([1, 16, 17, 32])("are told token by token where there are %i", async (tokens) => {
    const runs = Array.from({ length: tokens }, (_, i) => ({ sequences: [i], position: 10 * i, tokens: 1, asking: 1 }));
    const { batches } = await handedOver(2, tokens);
    expect(batches).toEqual(Array(2).fill({ n_tokens: tokens, runs }));
  });
});
