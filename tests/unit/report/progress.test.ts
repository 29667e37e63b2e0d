import { describe, expect, test } from "bun:test";
import { createProgress, progressText } from "../../../src/report/progress.ts";
import { tellShare } from "../../../src/report/working.ts";

const state = { phase: "decoding", tokens: 812, events: 0, lost: 0, share: 0.4 };

/** A stream that records, and a clock that is moved by hand. */
function recorded(isTTY: boolean, columns = 100) {
  const written: string[] = [];
  const clock = { ms: 0 };
  const stream = { isTTY, columns, write: (text: string) => written.push(text) };
  return { written, clock, progress: createProgress(stream, { now: () => clock.ms }), stream };
}

describe("the progress line", () => {
  test("says phase, tokens, rate, loss, time and what is left of it", () => {
    expect(progressText(state, 12_000, 41_200, 18_000)).toBe(
      "decoding  812 tokens  41.2k events/s  0 lost  12.0 s  18.0 s left",
    );
    expect(progressText({ ...state, tokens: 0, share: null, phase: "baseline" }, 500, 0, null)).toBe(
      "baseline  0 events/s  0 lost  500 ms",
    );
  });

  test("says of work that counts no events how long it has gone on and what is left", () => {
    const { written, clock, progress } = recorded(false);
    const onShare = tellShare(progress, "hashing");
    for (const [ms, share] of [
      [0, 0],
      [5000, 0.25],
      [12_000, 0.6],
      [20_000, 1],
    ] as const) {
      clock.ms = ms;
      onShare(share);
    }
    expect(written).toEqual(["mrm-trace: hashing  12.0 s  8.00 s left\n"]);
  });

  test("is drawn ten times a second at most, in place, with the rate since it was last drawn", () => {
    const { written, clock, progress } = recorded(true);
    progress.update(state);
    for (let i = 1; i <= 100; i++) {
      clock.ms = i * 10;
      progress.update({ ...state, events: i * 50 });
    }
    expect(written).toHaveLength(11);
    expect(written.every((text) => text.startsWith("\r\x1b[2K") && !text.includes("\n"))).toBe(true);
    expect(written.at(-1)).toContain("5000 events/s");
  });

  test("says how long it waited for a CPU, where that is most of the time: others have them all", () => {
    const written: string[] = [];
    const clock = { ms: 0, waited_ns: 70e9 };
    const stream = { write: (text: string) => written.push(text) };
    const progress = createProgress(stream, { now: () => clock.ms, waitedNs: () => clock.waited_ns });
    for (const [ms, waited_ns] of [
      [10_000, 74.9e9],
      [20_000, 79e9],
      [46_300, 112e9],
    ] as const) {
      Object.assign(clock, { ms, waited_ns });
      progress.update({ ...state, share: null });
    }
    expect(written.map((line) => line.trimEnd().split("  ").slice(5))).toEqual([[], [], ["waited 42.0 s for a CPU"]]);
  });

  test("never tells a rate below nothing, also where what follows counts anew", () => {
    const { written, clock, progress } = recorded(true);
    progress.update({ ...state, events: 50_000 });
    clock.ms = 200;
    progress.update({ ...state, phase: "analysing", events: 0 });
    expect(written.at(-1)).toContain("  0 events/s");
  });

  test("tells what is left from the speed of the work alone, once a second of it was seen", () => {
    const { written, clock, progress } = recorded(true);
    progress.update({ ...state, phase: "baseline", share: null });
    for (const [ms, share] of [
      [2000, 0],
      [2400, 0.1],
      [3000, 0.25],
    ] as const) {
      clock.ms = ms;
      progress.update({ ...state, share });
    }
    expect(written.slice(0, 3).some((text) => text.includes("left"))).toBe(false);
    // A quarter of four seconds was done in the second since it began.
    expect(written.at(-1)).toEndWith("3.00 s  3.00 s left");
  });

  test("is erased at the end, once, and only if it was drawn", () => {
    const { written, progress } = recorded(true);
    progress.clear();
    expect(written).toEqual([]);
    progress.update(state);
    progress.clear();
    progress.clear();
    expect(written.slice(1)).toEqual(["\r\x1b[2K"]);
  });

  test("is a line every 10 s without a TTY, the first after 10 s, with what is left", () => {
    const { written, clock, progress } = recorded(false);
    for (let s = 0; s <= 25; s++) {
      clock.ms = s * 1000;
      progress.update({ ...state, events: s * 100, share: s / 50 });
    }
    progress.clear();
    expect(written).toEqual([
      "mrm-trace: decoding  812 tokens  100 events/s  0 lost  10.0 s  40.0 s left\n",
      "mrm-trace: decoding  812 tokens  100 events/s  0 lost  20.0 s  30.0 s left\n",
    ]);
  });

  test("is not there when quiet", () => {
    for (const isTTY of [true, false]) {
      const { stream, written, clock } = recorded(isTTY);
      const progress = createProgress(stream, { quiet: true, now: () => clock.ms });
      clock.ms = 60_000;
      progress.update(state);
      progress.clear();
      expect(written).toEqual([]);
    }
  });

  test("never fills the terminal's last column", () => {
    for (const columns of [1, 10, 40, 200]) {
      const { written, progress } = recorded(true, columns);
      progress.update(state);
      expect(Bun.stringWidth(written[0] ?? "")).toBeLessThan(Math.max(2, columns));
    }
  });
});
