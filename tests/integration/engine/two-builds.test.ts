import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { BUILDS, fetchLlamaServer, OLDER_BUILDS } from "../../fixtures/llama-server.ts";
import {
  commandOf,
  copiedLibrary,
  ROW_BYTES,
  type Said,
  type Side,
  saidBy,
  type TracedTogether,
  tracedTogether,
} from "../../fixtures/llama-together.ts";
import { compileDebugged } from "../../fixtures/with-debug-data.ts";
import { endLeftRuns, outputFolder } from "../run/cli.ts";

setDefaultTimeout(120_000);
afterEach(endLeftRuns);

interface Built extends Side {
  readonly version: string;
  /** As its engine is told; null where its version is not known. */
  readonly build: string | null;
}

// Models and contexts are so unlike that nothing of one fits another.
const NEWEST: Built = {
  ...{ name: "newest", version: BUILDS.process, build: "llama.cpp b11549", calls: "process" },
  ...{ layers: 3, cells: 512, sequences: 2, prompt: 30, steps: 60 },
};
const OTHERS: readonly Built[] = [
  {
    ...{ name: "newer", version: BUILDS.decode, build: "llama.cpp b11063", calls: "decode" },
    ...{ layers: 2, cells: 1024, sequences: 2, prompt: 40, steps: 100 },
  },
  // Of builds of 2025 cells are known of one sequence alone.
  {
    ...{ name: "older", version: OLDER_BUILDS.memory, build: null, calls: "older" },
    ...{ layers: 2, cells: 768, sequences: 1, prompt: 40, steps: 100 },
  },
];

const builds = new Map<string, Awaited<ReturnType<typeof fetchLlamaServer>>>();
for (const { version } of [NEWEST, ...OTHERS]) {
  const build = await fetchLlamaServer(version);
  builds.set(version, build);
  if (!build.ok) process.stderr.write(`skipped: xllamacpp ${version} beside another build: ${build.reason}\n`);
}
const areThere = [...builds.values()].every(({ ok }) => ok);

function libraryOf({ name, version }: Built, folder: string): string {
  const build = builds.get(version);
  if (!build?.ok) throw new Error(build?.reason);
  return copiedLibrary(build.objects[0] ?? "", join(folder, name));
}

const ofPid = <T extends { readonly pid: number }>(rows: readonly T[], pid: number): T[] =>
  rows.filter((row) => row.pid === pid);
const batchesOf = ({ steps }: TracedTogether, pid: number) => ofPid(steps, pid).filter(({ kind }) => kind === "decode");
const detailsOf = ({ steps }: TracedTogether, pid: number, wanted: string) =>
  ofPid(steps, pid).flatMap(({ kind, detail }) => (kind === wanted ? [JSON.parse(detail ?? "{}")] : []));

/** Address and bytes of the tensors of a class, by name. */
function placesOf({ tensors }: TracedTogether, pid: number, region: string) {
  const placed = ofPid(tensors, pid).filter(({ kind, region_type }) => kind === "tensor" && region_type === region);
  return new Map(placed.map(({ name, addr, size_bytes }) => [name ?? "", [addr, size_bytes] as const]));
}

/** Cache tensors by name. */
const cachesOf = ({ layers }: Side): string[] =>
  Array.from({ length: layers }, (_, i) => [`cache_k_l${i}`, `cache_v_l${i}`]).flat();

function expectBatches(run: TracedTogether, { sequences, prompt, steps }: Side, { pid }: Said): void {
  expect(batchesOf(run, pid).map(({ n_tokens, result }) => [n_tokens, result])).toEqual([
    ...Array(sequences).fill([prompt, 0n]),
    ...Array(steps).fill([sequences, 0n]),
  ]);
}

function expectTensors(run: TracedTogether, side: Side, { pid, file_begin }: Said, model: string): void {
  const gguf = readGgufFile(model);
  if (!gguf.ok) throw new Error(gguf.reason);
  const inFile = gguf.directory.tensors.map(
    ({ name, offset, bytes }) => [name, [BigInt(file_begin + offset), BigInt(bytes ?? 0)]] as const,
  );
  expect(placesOf(run, pid, "weight")).toEqual(new Map(inFile));
  const caches = placesOf(run, pid, "kv_cache");
  expect([...caches.keys()].sort()).toEqual(cachesOf(side).sort());
  for (const [, bytes] of caches.values()) expect(bytes).toBe(BigInt(side.cells * ROW_BYTES));
}

/** One row of each token in each cache tensor; keys at the address of each are those that the engine saves. */
function expectRows(run: TracedTogether, side: Side, { pid, keys, bytesAt }: Said): void {
  const rows = ofPid(run.cacheRows, pid);
  const positions = Array.from({ length: side.prompt + side.steps }, (_, position) => position);
  const expected = cachesOf(side).flatMap((tensor) =>
    keys.flatMap((_, sequence) => positions.map((position) => `${tensor}/${sequence}/${position}`)),
  );
  const found = rows.map(({ tensor, sequence_id, position }) => `${tensor}/${sequence_id}/${position}`);
  expect(found.sort()).toEqual(expected.sort());
  const wrong = rows.filter(({ tensor, address, sequence_id, position }) => {
    if (tensor !== "cache_k_l0") return false;
    return address === null || bytesAt(address, ROW_BYTES) !== keys[sequence_id ?? -1]?.get(position ?? -1);
  });
  expect(wrong).toEqual([]);
}

describe.skipIf(!areThere).each(OTHERS.map((side) => [side.build ?? `xllamacpp ${side.version}`, side] as const))(
  "llama.cpp b11549 in one process, %s in another at the same time",
  (_, other) => {
    const folder = outputFolder();
    afterAll(() => rmSync(folder, { recursive: true }));
    let run: TracedTogether;
    let both: readonly { readonly side: Built; readonly said: Said; readonly library: string }[] = [];

    beforeAll(async () => {
      const sides = [other, NEWEST].map((side) => ({ side, library: libraryOf(side, folder) }));
      const commands = sides.map(({ side, library }) =>
        commandOf(side, library, folder, side === other ? NEWEST.name : other.name),
      );
      run = await tracedTogether(commands, folder);
      both = sides.map((one) => ({ ...one, said: saidBy(one.side, folder) }));
    });

    test("are each read by a build, and nothing of them is lost", () => {
      expect([run.report.warnings, run.report.ledger.filter(({ dropped }) => Number(dropped) > 0)]).toEqual([[], []]);
      for (const { side, said, library } of both) {
        const libraries = detailsOf(run, said.pid, "engine").filter(({ path }) => path !== undefined);
        expect(libraries).toMatchObject([{ path: library, build: side.build }]);
      }
    });

    test("have their batches and tokens", () => {
      for (const { side, said } of both) {
        expect(said.failed).toBe(0);
        expectBatches(run, side, said);
      }
      const sum = (count: (side: Side) => number) => both.reduce((all, { side }) => all + count(side), 0);
      expect(run.report.target).toMatchObject({
        prompt_tokens: sum(({ sequences, prompt }) => sequences * prompt),
        decode_tokens: sum(({ sequences, steps }) => sequences * steps),
      });
    });

    test("take turns: what each does in its second half is behind the first half of both", () => {
      const halves = both.map(({ side, said }) => {
        const begins = batchesOf(run, said.pid).map(({ timestamp_ns }) => timestamp_ns);
        const middle = side.sequences + side.steps / 2;
        return { end: begins[middle - 1] ?? 0n, next: begins[middle] ?? 0n };
      });
      for (const { next } of halves) for (const { end } of halves) expect(next).toBeGreaterThan(end);
    });

    test("have their weights and caches by name, where they are", () => {
      for (const { side, said } of both) expectTensors(run, side, said, join(folder, `${side.name}.gguf`));
    });

    test("have their rows of the cache, in the cells in which the engine has them", () => {
      for (const { side, said } of both) expectRows(run, side, said);
      expect(new Set(run.cacheRows.map(({ pid }) => pid))).toEqual(new Set(both.map(({ said }) => said.pid)));
    });

    test("are told together as far as they are alike", () => {
      const { engine } = run.report;
      expect(engine).toMatchObject({ name: "llama.cpp", build: null, build_id: null });
      expect(new Set(engine?.builds?.map(({ build }) => build))).toEqual(new Set(both.map(({ side }) => side.build)));
      expect(engine?.context?.n_ctx).toBeUndefined();
      const flash = both.map(({ said }) =>
        detailsOf(run, said.pid, "engine").flatMap(({ settings = {} }) => settings.flash_attention ?? []),
      );
      expect(flash.map((words) => words.length > 0)).toEqual([true, true]);
      const [one, another] = flash.map((words) => words.at(-1));
      expect(engine?.flash_attention).toBe(one === another ? one : undefined);
    });
  },
);

test.skipIf(!areThere)("structures that two processes lay out otherwise are each read by its own offsets", async () => {
  const folder = outputFolder();
  try {
    const program = compileDebugged("debugged-engine", "cc", "-g", "-DMOVED");
    // It meets nobody.
    for (const place of ["loaded", "half", "done"]) writeFileSync(join(folder, `moved.${place}`), "");
    const library = libraryOf(NEWEST, folder);
    const output = join(folder, "moved.json");
    const commands = [`${program} probed >${output}`, commandOf(NEWEST, library, folder, "moved")];
    const run = await tracedTogether(commands, folder);
    expect(run.report.warnings).toEqual([]);

    const said = saidBy(NEWEST, folder);
    expect(said.failed).toBe(0);
    expectBatches(run, NEWEST, said);
    expectTensors(run, NEWEST, said, join(folder, `${NEWEST.name}.gguf`));
    expectRows(run, NEWEST, said);

    const moved = run.steps.find(({ kind, pid }) => kind === "decode" && pid !== said.pid)?.pid ?? 0;
    const places = JSON.parse(readFileSync(output, "utf8"));
    expect(detailsOf(run, moved, "engine")[0]).toMatchObject({ path: program, layout_evidence: "dwarf" });
    expect(placesOf(run, moved, "weight")).toEqual(new Map([["blk.0.attn_k.weight", [BigInt(places.weights), 512n]]]));
    expect(placesOf(run, moved, "kv_cache")).toEqual(new Map([["cache_k_l0", [BigInt(places.cache), 3072n]]]));
    expect(detailsOf(run, moved, "context")).toMatchObject([{ n_ctx: 96, n_batch: 8, n_seq_max: 2, type_v: "f32" }]);
    expect(batchesOf(run, moved).map(({ n_tokens, position_first }) => [n_tokens, position_first])).toEqual([
      [3, 0],
      [1, 3],
    ]);
    expect(detailsOf(run, moved, "decode").map(({ kv_row_cells }) => kv_row_cells)).toEqual([[[0, 3]], [[3, 1]]]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
