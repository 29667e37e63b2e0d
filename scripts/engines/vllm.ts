#!/usr/bin/env bun
/**
 * Real vLLM on a CPU under `mrm-trace attach`: a model of random weights, requests in batches with shared prefixes, and what the
 * tracer knew of weights, steps, tokens and rows of the cache held against torch and vLLM's own lists. Run by scripts/test-engines; 6.2 GB
 * installed from PyPI, needs python3-venv, libnuma1 and root. Ends with 1 where anything differs.
 */
import { join } from "node:path";
import { openRun } from "../../src/api/open-run.ts";
import { readRemote } from "../../src/kernel/remote-memory.ts";
import { startCli } from "../../tests/integration/run/cli.ts";
import { ENGINE_ENVIRONMENT, folder, install, MODES, type Mode, python, say } from "../vllm-environment.ts";

const PROGRAM = new URL("../../tests/fixtures/run_vllm.py", import.meta.url).pathname;

/** What vLLM says; addresses fit into a number. */
interface Said {
  readonly pid: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly placed: readonly (readonly [name: string, addr: number, bytes: number])[];
  /** Parameters that were packed anew, with a digest of their values. */
  readonly packed: readonly (readonly [name: string, values: string])[];
  readonly caches: readonly (readonly [
    keys: number,
    of: readonly [layer: number, values: number, storage: number, bytes: number],
  ])[];
  readonly steps: readonly (readonly number[])[];
  /** Slots by step and request. */
  readonly reads: readonly (readonly (readonly number[])[])[];
  /** Blocks of the pool that were given out for each step, by its number. */
  readonly given: readonly (readonly [step: number, blocks: readonly number[]])[];
  /** Names of the requests of each step, in the order of `reads`. */
  readonly owners: readonly (readonly string[])[];
  /** Blocks that were taken out of the prefix cache for each step, and requests that were put off before it. */
  readonly evicted: readonly (readonly [step: number, block: number])[];
  readonly put_off: readonly (readonly [step: number, request: string])[];
  /** By request, as the program names it: tokens of the prompt, those that were found in the cache, those of the answer. */
  readonly found: Readonly<Record<string, readonly [prompt: number, cached: number, answer: number]>>;
  readonly block_tokens: number;
  readonly generated: number;
}

interface Report {
  readonly run_dir: string;
  readonly engine: { readonly name: string; readonly build: string | null } | null;
  readonly warnings: readonly string[];
  readonly target: Readonly<Record<"prompt_tokens" | "decode_tokens" | "decode_tokens_per_s", number | null>>;
}

/** Attaches to vLLM with its model loaded, lets it answer, and ends the recording; the program waits to be told to end. */
async function traced(mode: Mode): Promise<{ readonly report: Report; readonly said: Said; end(): Promise<void> }> {
  const env = { ...process.env, ...ENGINE_ENVIRONMENT };
  const log = Bun.file(join(folder, "vllm.log"));
  const child = Bun.spawn([python, PROGRAM, join(folder, "model"), mode], {
    env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: log,
  });
  let text = "";
  let isOver = false;
  const waiting: (() => void)[] = [];
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      for (const wake of waiting.splice(0)) wake();
    }
    isOver = true;
    for (const wake of waiting.splice(0)) wake();
  })();
  const line = async (begin: string): Promise<string> => {
    for (;;) {
      const found = text
        .split("\n")
        .slice(0, -1)
        .find((one) => one.startsWith(begin));
      if (found !== undefined) return found;
      if (isOver) throw new Error(`vLLM ended: see ${log.name}`);
      await new Promise<void>((wake) => void waiting.push(wake));
    }
  };
  await line("ready");
  const args = ["attach", String(child.pid), "--json", "--verbose", "--baseline", "100ms"];
  const tracer = startCli([...args, "--output", join(folder, "results")]);
  await tracer.said("recording");
  child.stdin.write("\n");
  await child.stdin.flush();
  const said = JSON.parse(await line('{"pid"')) as Said;
  await Bun.sleep(300);
  tracer.signal("SIGINT");
  const ended = await tracer.ended;
  const end = async (): Promise<void> => {
    child.stdin.end();
    await Promise.all([child.exited, reading]);
  };
  if (ended.stdout !== "") return { report: JSON.parse(ended.stdout) as Report, said, end };
  await end();
  throw new Error(`exit code ${ended.exitCode}: ${ended.stderr}`);
}

type Row = Readonly<Record<string, unknown>>;

interface StepDetail {
  readonly kv_row_cells?: readonly (readonly [first: number, count: number])[];
}

interface TrueRow {
  total_reads: number;
  readonly written: number;
  readonly position: number;
  /** The step for which its block was given out again. */
  ended: number | null;
  /** Requests that had its block, with the last step in which each read it. */
  readonly owners: Map<string, number>;
  ended_by: string | null;
  left_prefix_cache: boolean | null;
}

/** Rows of one layer by vLLM's own lists: they end where their block is given out again; reads of later steps, each once. */
function rowsBy({ steps, reads, given, block_tokens, owners, evicted, put_off }: Said): TrueRow[] {
  const rows: TrueRow[] = [];
  const live = new Map<number, TrueRow>();
  for (const [i, slots] of steps.entries()) {
    const fresh = new Set(given.filter(([step]) => step === i).flatMap(([, blocks]) => blocks));
    for (const [slot, row] of live) {
      if (!fresh.has(Math.floor(slot / block_tokens))) continue;
      row.ended = i;
      const fates = [...row.owners].map(([name, last]) =>
        put_off.some(([step, request]) => request === name && step > last && step <= i) ? "preempted" : "finished",
      );
      row.ended_by = new Set(fates).size === 1 ? (fates[0] ?? null) : "given_out";
      row.left_prefix_cache = evicted.some(([step, block]) => step === i && block === Math.floor(slot / block_tokens));
      live.delete(slot);
    }
    const positions = new Map(reads[i]?.flatMap((slots) => slots.map((slot, position) => [slot, position] as const)));
    for (const slot of slots) {
      const position = positions.get(slot) ?? -1;
      const none = { ended: null, ended_by: null, left_prefix_cache: null };
      const row: TrueRow = { total_reads: 0, written: i, position, owners: new Map(), ...none };
      rows.push(row);
      live.set(slot, row);
    }
    for (const [k, slots] of (reads[i] ?? []).entries()) {
      for (const slot of slots) live.get(slot)?.owners.set(owners[i]?.[k] ?? "", i);
    }
    for (const slot of new Set(reads[i]?.flat())) {
      const row = live.get(slot);
      if (row !== undefined && row.written < i) row.total_reads += 1;
    }
  }
  return rows;
}

/** A digest of what lies there as run_vllm.py makes it of a matrix before it is packed. */
function valuesAt(pid: number, addr: bigint, bytes: number): string {
  const copied = readRemote(pid, addr, bytes);
  const values = copied === null ? [] : new Int32Array(copied.slice().buffer).filter((value) => value !== 0).sort();
  return new Bun.CryptoHasher("sha256").update(Int32Array.from(values)).digest("hex");
}

/** By name what is true of each weight, and what the regions say: a place, or the values that a place holds. */
function weightsBy(said: Said, regions: readonly Row[]): { readonly known: string[]; readonly truth: string[] } {
  const packs = new Set(said.packed.map(([name]) => name));
  const known = regions.map(({ tensor, addr, size_bytes }) => {
    const values = packs.has(String(tensor)) ? valuesAt(said.pid, BigInt(String(addr)), Number(size_bytes)) : null;
    return `${tensor}:${values ?? `${addr}:${size_bytes}`}`;
  });
  const truth = [...said.placed.map((one) => one.join(":")), ...said.packed.map((one) => one.join(":"))];
  return { known, truth };
}

/** As a row of the table has them: the one that wrote it first. */
const namesOf = ({ owners }: TrueRow): string => JSON.stringify([...owners.keys()]);
const sorted = (rows: readonly string[]): string => rows.toSorted().join(" ");

/** Prints what was known beside what is true. @returns whether all is alike */
function tell(report: Report, said: Said): boolean {
  using opened = openRun(report.run_dir);
  const rows = (table: "step" | "region_map" | "kv_block_lifecycle" | "request_figures"): readonly Row[] =>
    opened.table(table).toArray() as unknown as Row[];
  const steps = rows("step").filter(({ kind }) => kind === "decode");
  const slots = steps.map(({ detail }) =>
    ((JSON.parse(String(detail)) as StepDetail).kv_row_cells ?? []).flatMap(([first, count]) =>
      Array.from({ length: count }, (_, i) => first + i),
    ),
  );
  const places = rows("region_map").filter(({ region_type }) => region_type === "kv_cache");
  const layers = said.caches.map(([keys, [layer]]) => `${layer}:${keys}`);
  const storage = said.caches[0]?.[1][3] ?? 0;
  const bytes = places.reduce((sum, { size_bytes }) => sum + Number(size_bytes), 0);
  const truth = rowsBy(said);
  const stepAt = new Map(steps.map(({ timestamp_ns }, i) => [String(timestamp_ns), i]));
  const lives = rows("kv_block_lifecycle");
  // What went by before the requests were read first has no names.
  const named = lives.filter(({ requests }) => requests !== null);
  const writtenIn = ({ write_ns }: Row): number => stepAt.get(String(write_ns)) ?? -1;
  const late = lives.filter(
    (row) =>
      row.requests === null && Number(BigInt(String(row.write_ns)) - BigInt(String(steps[0]?.timestamp_ns ?? 0))) > 5e8,
  );
  const isNamed = new Set(
    named.map((row) => `${writtenIn(row)}:${row.position}:${JSON.parse(String(row.requests))[0]}`),
  );
  const owners = [
    sorted(
      named.map((row) => [row.layer, writtenIn(row), row.requests, row.ended_by, row.left_prefix_cache].join(":")),
    ),
    sorted(
      said.caches.flatMap(([, [layer]]) =>
        truth
          .filter((row) => isNamed.has(`${row.written}:${row.position}:${row.owners.keys().next().value}`))
          .map((row) => [layer, row.written, namesOf(row), row.ended_by, row.left_prefix_cache].join(":")),
      ),
    ),
  ] as const;
  const requests = rows("request_figures").map((row): readonly [string, Row] => [
    String(row.request).split("-")[0] ?? "",
    row,
  ]);
  // What the first step works on may have begun before it: nothing is said of its prefix.
  const isCut = new Set(requests.filter(([, row]) => row.reused_tokens === null).map(([number]) => number));
  const isTold = new Set(requests.map(([number]) => number));
  const found = Object.entries(said.found).filter(([number]) => isTold.has(number));
  const told = [
    sorted(
      requests.map(([number, row]) => [number, row.prompt_tokens, row.reused_tokens, row.output_tokens].join(":")),
    ),
    sorted(
      found.map(([number, [prompt, cached, answer]]) =>
        [number, prompt, isCut.has(number) ? null : cached, answer].join(":"),
      ),
    ),
  ] as const;
  const count = said.steps.flat().length;
  const tokens = (report.target.prompt_tokens ?? 0) + (report.target.decode_tokens ?? 0);
  const regions = rows("region_map").filter(({ region_type }) => region_type === "weight");
  const weights = weightsBy(said, regions);
  const weightBytes = regions.reduce((sum, { size_bytes }) => sum + Number(size_bytes), 0);
  const foundAt = rows("step").find(({ detail }) => String(detail).includes('"weight_tensors"'));
  const foundMs =
    Number(BigInt(String(foundAt?.timestamp_ns ?? 0)) - BigInt(String(steps[0]?.timestamp_ns ?? 0))) / 1e6;
  const checks: readonly (readonly [what: string, known: unknown, truth: unknown])[] = [
    ["steps", steps.length, said.steps.length],
    ["tokens of steps", tokens, count],
    ["slots written, by step", JSON.stringify(slots), JSON.stringify(said.steps)],
    ["weights by name, each by its address or by what it holds", sorted(weights.known), sorted(weights.truth)],
    ["layers of the cache", sorted(places.map(({ layer, addr }) => `${layer}:${addr}`)), sorted(layers)],
    ["bytes of the cache", bytes, storage],
    [`requests of ${named.length} of ${lives.length} rows, ends, and which left the prefix cache`, ...owners],
    [
      `${found.length} of ${Object.keys(said.found).length} requests, with tokens of prompt, cache (but ${isCut.size}) and answer`,
      ...told,
    ],
    ["rows without a request, of later ones than 0.5 s", late.length, 0],
    ["rows of the cache", lives.length, truth.length * said.caches.length],
    [
      "write, reads and end of the rows of each layer, by steps",
      sorted(
        lives.map(({ layer, write_ns, total_reads, evict_ns }) =>
          [layer, stepAt.get(String(write_ns)), total_reads, stepAt.get(String(evict_ns))].join(":"),
        ),
      ),
      sorted(
        said.caches.flatMap(([, [layer]]) =>
          truth.map(({ written, total_reads, ended }) => [layer, written, total_reads, ended ?? undefined].join(":")),
        ),
      ),
    ],
  ];
  say(
    `  ${Object.entries(said.versions).flat().join(" ")}; engine ${report.engine?.name ?? "not recognised"}, build ${report.engine?.build ?? "not known"}`,
  );
  let isAlike = true;
  for (const [what, known, isTrue] of checks) {
    const same = known === isTrue;
    isAlike &&= same;
    const shown = (value: unknown): string =>
      String(value).length > 60 ? `${String(value).slice(0, 57)}...` : String(value);
    say(`  ${same ? "alike " : "DIFFER"} ${what}: ${shown(known)}${same ? "" : `, by vLLM ${shown(isTrue)}`}`);
  }
  const { prompt_tokens, decode_tokens, decode_tokens_per_s } = report.target;
  say(
    `  ${prompt_tokens} tokens in steps with prompts, ${decode_tokens} in others; ${decode_tokens_per_s?.toFixed(1)}/s; vLLM generated ${said.generated}`,
  );
  const ends = Object.entries(Object.groupBy(truth, ({ ended_by }) => ended_by ?? "there"));
  const cached = truth.filter(({ left_prefix_cache }) => left_prefix_cache).length;
  say(`  by vLLM: ${ends.map(([by, list]) => `${list?.length} ${by}`).join(", ")}; ${cached} left the prefix cache`);
  say(`  ${regions.length} weights, ${weightBytes} bytes, found ${foundMs.toFixed(0)} ms after the first step began`);
  for (const text of report.warnings) say(`  warning ${text}`);
  return isAlike;
}

await install();
let isAlike = true;
for (const mode of MODES) {
  say(mode);
  const { report, said, end } = await traced(mode);
  isAlike = tell(report, said) && isAlike;
  await end();
}
say(isAlike ? "vllm: weights, steps, tokens and rows as vLLM has them" : "vllm: not all is as vLLM has it, see above");
process.exit(isAlike ? 0 : 1);
