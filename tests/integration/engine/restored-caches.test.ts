import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RESTORE_FAILED } from "../../../src/label/kv/kv-tokens.ts";
import { stepRows } from "../../../src/label/timeline/step-row.ts";
import { runEngine } from "../../fixtures/engine-run.ts";
import { kvTokens } from "../../fixtures/listed-tokens.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);

const build = await fetchLlamaServer();
if (!build.ok) process.stderr.write(`skipped: caches that llama.cpp changes at once: ${build.reason}\n`);
const DRIVER = new URL("../../fixtures/llama_restores.py", import.meta.url).pathname;

async function drive(kind: string) {
  if (!build.ok) throw new Error(build.reason);
  const folder = mkdtempSync(join(tmpdir(), "mrm-restored-"));
  try {
    const [library = ""] = build.objects;
    const run = await runEngine(["python3", DRIVER, library, folder, kind], build);
    const { failed, done, held } = JSON.parse(run.stdout);
    expect(failed).toBe(0);
    const { tokens, untold } = kvTokens(stepRows(run.steps, run.steps[0]?.timestamp_ns ?? 0n));
    const alive = tokens.filter(({ evict_ns }) => evict_ns === null);
    const positions = [0, 1, 2].map((id) =>
      alive.flatMap(({ sequence, position }) => (sequence === id ? [position ?? -1] : [])).sort((a, b) => a - b),
    );
    return { done, held, untold, positions };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Where a sequence is whole: each position from the first that the engine has to the one that came behind. */
const whole = (held: readonly (readonly [first: number, last: number])[]) =>
  held.map(([first, last]) => (last < 0 ? [] : Array.from({ length: last + 2 - first }, (_, i) => first + i)));

test.skipIf(!build.ok).each([
  [
    "one sequence is kept alone",
    "keep",
    [
      [0, 44],
      [-1, -1],
      [-1, -1],
    ],
  ],
  [
    "the state of all is restored",
    "whole",
    [
      [0, 39],
      [0, 19],
      [-1, -1],
    ],
  ],
  [
    "the state of all is restored from a file",
    "file",
    [
      [0, 39],
      [0, 19],
      [-1, -1],
    ],
  ],
  [
    "that of one is restored from a file into another",
    "sequence_file",
    [
      [0, 44],
      [0, 19],
      [0, 39],
    ],
  ],
])("rows that are there after %s are those that the engine has", async (_, kind, expected) => {
  const { done, held, untold, positions } = await drive(kind);
  expect({ done, held, untold }).toEqual({ done: true, held: expected, untold: null });
  expect(positions).toEqual(whole(held));
});

test.skipIf(!build.ok)("rows whose positions are divided live on", async () => {
  const { held, untold, positions } = await drive("divide");
  expect([held[0], untold]).toEqual([[0, 22], null]);
  // They are named by where they were written: of the 25 that moved some are at the same position now.
  expect(positions[0]?.length).toBe(46);
});

test.skipIf(!build.ok)("no row is told where a state could not be restored", async () => {
  const { done, untold, positions } = await drive("absent");
  expect({ done, untold, positions }).toEqual({ done: false, untold: RESTORE_FAILED, positions: [[], [], []] });
});
