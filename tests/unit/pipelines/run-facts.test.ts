import { expect, test } from "bun:test";
import { commandNs } from "../../../src/pipelines/run-facts.ts";

/** A recording from 1 s to 9 s of a command that was let go at 2 s. */
const commandOf = (ended_s: number | null, outlived = false): number =>
  commandNs({
    started_ns: 1_000_000_000n,
    recording: { end_ns: 9_000_000_000n },
    ended:
      ended_s === null
        ? null
        : { exit_code: 0, signal: null, released_ns: 2_000_000_000n, ended_ns: BigInt(ended_s) * 1_000_000_000n },
    outlived,
  }) / 1e9;

test("a command takes the time from its release to its end, without what the tracer does before and behind it", () => {
  expect(commandOf(5)).toBe(3);
});

test("a command that others of its tree outlive takes as long as they are recorded", () => {
  expect(commandOf(5, true)).toBe(7);
});

test("a command that outlives its recording takes as long as it was recorded", () => {
  expect(commandOf(20)).toBe(7);
  expect(commandOf(null)).toBe(8);
});

test("a command that died while it was held is told from the begin of the recording", () => {
  const ended = { exit_code: null, signal: "SIGKILL", released_ns: null, ended_ns: 3_000_000_000n };
  const recording = { end_ns: 9_000_000_000n };
  expect(commandNs({ started_ns: 1_000_000_000n, recording, ended, outlived: false })).toBe(2e9);
});
