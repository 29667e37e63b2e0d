import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRemote } from "../../../src/kernel/remote-memory.ts";
import { isBatch, stepRows } from "../../../src/label/timeline/step-row.ts";
import { runEngine } from "../../fixtures/engine-run.ts";
import { kvTokens } from "../../fixtures/listed-tokens.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { savedKeys } from "../../fixtures/saved-keys.ts";
import { waitUntil } from "../../fixtures/wait-until.ts";

setDefaultTimeout(120_000);

const build = await fetchLlamaServer();
if (!build.ok) process.stderr.write(`skipped: many sequences of llama.cpp: ${build.reason}\n`);
const DRIVER = new URL("../../fixtures/llama_sequences.py", import.meta.url).pathname;
/** The most that the build allows (LLAMA_MAX_SEQ). */
const SEQUENCES = 256;

/** The saved states that the driver writes one behind the other, each behind its length. */
function savedStates(file: Uint8Array, rowBytes: number): Map<number, string>[] {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  const states: Map<number, string>[] = [];
  for (let next = 0; next < file.length; ) {
    const bytes = view.getUint32(next, true);
    states.push(savedKeys(file.subarray(next + 4, next + 4 + bytes), rowBytes));
    next += 4 + bytes;
  }
  return states;
}

test.skipIf(!build.ok).each([
  ["one cache of 32,768 cells for all of them", "shared"],
  ["cells of their own", "split"],
])("256 sequences with %s: each row is in the cell, and of the sequence, that the engine says", async (_, kind) => {
  if (!build.ok) throw new Error(build.reason);
  const folder = mkdtempSync(join(tmpdir(), "mrm-many-"));
  try {
    const [library = ""] = build.objects;
    let states: Map<number, string>[] = [];
    let keys: Uint8Array = new Uint8Array(0);
    let [rowBytes, streamCells] = [0, null as number | null];
    const run = await runEngine(["python3", DRIVER, library, folder, kind], {
      env: build.env,
      objects: build.objects,
      async meanwhile(session, pid) {
        const saved = join(folder, "states");
        if (!(await waitUntil(() => existsSync(saved), 60))) throw new Error("the driver saved no states");
        const tensor = session.liveTensors().find(({ name }) => name === "cache_k_l0");
        const [, cells = 1, streams = 1] = tensor?.ne ?? [];
        if (streams > 1) streamCells = cells;
        rowBytes = (tensor?.size_bytes ?? 0) / (cells * streams);
        states = savedStates(readFileSync(saved), rowBytes);
        keys = (tensor && readRemote(pid, tensor.addr, tensor.size_bytes)) ?? keys;
        rmSync(saved);
      },
    });
    expect(JSON.parse(run.stdout)).toEqual({ failed: 0 });
    expect(run.ledger.filter(({ dropped, way }) => dropped > 0 && way !== "graph")).toEqual([]);
    const steps = stepRows(run.steps, run.steps[0]?.timestamp_ns ?? 0n);
    expect(steps.filter(isBatch).some(({ n_sequences }) => n_sequences === SEQUENCES)).toBe(true);
    const { tokens, untold } = kvTokens(steps, () => streamCells);
    expect(untold).toBeNull();
    const alive = tokens.filter(({ evict_ns }) => evict_ns === null);
    const rowAt = (cell: number | null) =>
      cell === null ? "no cell" : keys.subarray(cell * rowBytes, (cell + 1) * rowBytes).toHex();
    const wrong = alive.filter(
      ({ sequence, position, cell }) => states[sequence ?? -1]?.get(position ?? -1) !== rowAt(cell),
    );
    expect(wrong.slice(0, 3)).toEqual([]);
    expect(new Set(alive.map(({ cell }) => cell)).size).toBe(alive.length);
    // What sequences share is there once in a cache that they share; no two rows that were computed are alike.
    const saved = states.flatMap((keysOf) => [...keysOf.values()]);
    expect(states.map((keysOf) => keysOf.size > 0)).toEqual(Array(SEQUENCES).fill(true));
    expect(alive.length).toBe(streamCells === null ? new Set(saved).size : saved.length);
    const known = new Set(alive.map(({ cell }) => rowAt(cell)));
    expect(saved.filter((row) => !known.has(row))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
