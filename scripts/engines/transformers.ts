#!/usr/bin/env bun
/**
 * Real torch and transformers under `mrm-trace run` and `attach`: a model of random weights, the labels of its weights
 * held against the address and the size that torch itself tells of each parameter, and the steps against the forward passes
 * that the program itself counts, with their tokens; static caches against where torch has their tensors, and which rows
 * each pass writes; dynamic caches against where torch has them after each pass. Run by scripts/test-engines; 3 GB of packages of PyPI, 5.6 GB installed; needs python3-venv and root.
 * Ends with 1 where a byte is labelled wrongly, or one that lies in the file or in a cache has no name, or a step is
 * not a forward pass, or one of those has no step, or a row of a static cache differs.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRun } from "../../src/api/open-run.ts";
import { runEngine } from "../../tests/fixtures/engine-run.ts";
import { jsonOf, QUICK, runCli } from "../../tests/integration/run/cli.ts";
import { environment, install, python, say } from "../transformers-environment.ts";
import { judgeCaches, type SaidCaches } from "../truth-caches.ts";
import { judgeMovedRows } from "../truth-moved-rows.ts";
import { judgeMoves, type SaidMoves } from "../truth-moves.ts";

const PROGRAM = new URL("../../tests/fixtures/run_transformers.py", import.meta.url).pathname;

type Places = Readonly<Record<string, readonly [address: number, bytes: number]>>;
/** Times of CLOCK_MONOTONIC, ns. */
type Forward = readonly [begin: number, end: number, tokens: number, sequences: number];
interface Said {
  readonly versions: Readonly<Record<string, string>>;
  readonly places: Places;
  readonly forwards: readonly Forward[];
}
interface Report {
  readonly run_dir: string;
  readonly engine: { readonly name: string } | null;
  readonly warnings: readonly string[];
  readonly metrics: readonly { readonly region_type: string; readonly why: string | null }[];
}

async function traced(verb: "run" | "attach", rest: readonly string[], output: string): Promise<Report> {
  const ended = await runCli([verb, "--json", ...QUICK, "--output", output, ...rest]);
  if (ended.exitCode !== 0) throw new Error(ended.stderr);
  return jsonOf(ended) as unknown as Report;
}

const saidIn = (text: string): Said => {
  const [places, forwards] = ['{"versions"', '{"forwards"'].map((begin) =>
    text.split("\n").find((line) => line.startsWith(begin)),
  );
  if (places === undefined || forwards === undefined) throw new Error(`the program did not say what it does: ${text}`);
  return { ...JSON.parse(places), ...JSON.parse(forwards) } as Said;
};

interface Judgement {
  /** Bytes of parameters with their own name. */
  readonly right: number;
  /** Bytes of parameters without. */
  readonly missing: number;
  /** Bytes of a name where torch has not that parameter. */
  readonly wrong: number;
  /** Bytes of parameters that are taken for weights and have no name. */
  readonly nameless: number;
  /** Bytes that are taken for weights, have no name, and are no parameter. */
  readonly others: number;
}

/** Holds the map of a run against what torch says; of a process that goes on, what was there at the end; of weights that were copied, what is not in the file. */
function judge(runDir: string, places: Places, goesOn: boolean, copied: boolean): Judgement {
  const opened = openRun(runDir);
  const rows = opened.table("region_map").toArray() as unknown as Record<string, unknown>[];
  opened.close();
  const weights = rows.filter(
    ({ region_type, death_censored, evidence }) =>
      region_type === "weight" && (!goesOn || death_censored) && !(copied && evidence === "file_header"),
  );
  const named = weights.filter(({ tensor }) => tensor !== null);
  const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
  /** Bytes of a parameter that some regions hold. */
  const held = ([address, bytes]: readonly [number, number], some: typeof rows): number =>
    sum(
      some.map(({ addr, size_bytes }) => {
        const end = Math.min(address + bytes, Number(addr) + Number(size_bytes));
        return Math.max(0, end - Math.max(address, Number(addr)));
      }),
    );
  const nameOnly = (name: string): typeof rows => named.filter(({ tensor }) => tensor === name);
  const right = sum(Object.entries(places).map(([name, place]) => held(place, nameOnly(name))));
  const bytes = sum(Object.values(places).map(([, size]) => size));
  const sizesOf = (some: typeof rows): number => sum(some.map(({ size_bytes }) => Number(size_bytes)));
  const unnamed = weights.filter(({ tensor }) => tensor === null);
  const nameless = sum(Object.values(places).map((place) => held(place, unnamed)));
  const others = sizesOf(unnamed) - nameless;
  return { right, missing: bytes - right, wrong: sizesOf(named) - right, nameless, others };
}

interface Passes {
  /** Steps that are a forward pass, with its tokens and sequences. */
  readonly right: number;
  /** Forward passes, between the first step and the last, that have no step. */
  readonly missing: number;
  /** Steps that are no forward pass, or have another number of tokens. */
  readonly wrong: number;
  /** The tokens of those that are right: of prompts, and one for each sequence. */
  readonly prompt: number;
  readonly decoded: number;
}

/** Holds the steps of a run against the forward passes of the program. @param goesOn what came before and after is not asked for */
function judgePasses(runDir: string, forwards: readonly Forward[], goesOn: boolean): Passes {
  const opened = openRun(runDir);
  const rows = opened.table("step").toArray() as unknown as Record<string, unknown>[];
  opened.close();
  const steps = rows
    .filter(({ kind }) => kind === "decode")
    .map(({ timestamp_ns, end_ns, n_tokens, n_sequences }) => ({
      ...{ begin: Number(timestamp_ns), end: end_ns === null ? null : Number(end_ns) },
      ...{ tokens: Number(n_tokens), sequences: Number(n_sequences) },
    }))
    .sort((one, other) => one.begin - other.begin);
  const [first, last] = [steps.at(0)?.begin ?? 0, steps.at(-1)?.begin ?? 0];
  const told = forwards.filter(([, end]) => !goesOn || end >= first).filter(([begin]) => !goesOn || begin <= last);
  const found = told.map(([begin, end, tokens, sequences]) => {
    const inside = steps.filter((step) => step.begin >= begin && step.begin <= end);
    const [step] = inside;
    // A pass ends with its result; the token is drawn from it a moment later, and before the next pass.
    const ends = step === undefined || step.end === null || step.end >= end;
    return inside.length === 1 && step?.tokens === tokens && step.sequences === sequences && ends ? tokens : null;
  });
  const right = told.filter((_, i) => found[i] !== null);
  const sum = (some: readonly Forward[]): number => some.reduce((total, [, , tokens]) => total + tokens, 0);
  const prompts = right.filter(([, , tokens, sequences]) => tokens > sequences);
  const counts = { right: right.length, missing: told.length - right.length, wrong: steps.length - right.length };
  return { ...counts, prompt: sum(prompts), decoded: sum(right) - sum(prompts) };
}

/** A program that works before the tracer comes, and goes on when it has left. @returns what it printed */
async function attached(
  command: readonly string[],
  output: string,
  duration = "3s",
): Promise<{ report: Report; text: string }> {
  const child = Bun.spawn([python, ...command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  let text = "";
  const loaded = Promise.withResolvers<void>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes("\n")) loaded.resolve();
    }
    loaded.resolve();
  })();
  await loaded.promise;
  await Bun.sleep(2000);
  const report = await traced("attach", ["--duration", duration, String(child.pid)], output).finally(() =>
    child.stdin.end(),
  );
  await Promise.all([child.exited, reading]);
  if (child.exitCode !== 0) throw new Error("the program failed, or its parameters were moved");
  return { report, text };
}

/** A program that the tracer starts: what it says goes to a file, as the output of the tracer is its report. */
async function launched(command: readonly string[], output: string): Promise<{ report: Report; text: string }> {
  const file = join(folder, "said.json");
  const redirected = ["sh", "-c", 'file=$1; shift; "$@" >"$file"', "sh", file, python, ...command];
  const report = await traced("run", ["--", ...redirected], output);
  return { report, text: await Bun.file(file).text() };
}

await install();
let failed = 0;
function tell(what: string, { report, text }: { report: Report; text: string }): void {
  const said = saidIn(text);
  const { right, missing, wrong, nameless, others } = judge(
    report.run_dir,
    said.places,
    what.startsWith("attach"),
    !what.endsWith("mapped"),
  );
  const passes = judgePasses(report.run_dir, said.forwards, what.startsWith("attach"));
  const isCounted = passes.right > 0 && passes.missing === 0 && passes.wrong === 0;
  const isGood = isCounted && missing === 0 && wrong === 0 && others === 0;
  if (!isGood) failed += 1;
  const versions = Object.entries(said.versions).map((version) => version.join(" "));
  const count = Object.keys(said.places).length;
  say(
    `${isGood ? "right" : "WRONG"}  ${what}: ${versions.join(", ")}, engine ${report.engine?.name ?? "none"}, ${count} parameters`,
  );
  say(
    `       ${right} bytes by their own name, ${missing} without, ${wrong} of a name elsewhere; ${nameless} as weights without a name, ${others} that are none`,
  );
  say(
    `       ${passes.right} forward passes with their tokens (${passes.prompt} of prompts, ${passes.decoded} decoded), ${passes.missing} without a step, ${passes.wrong} steps that are none`,
  );
  for (const warning of report.warnings) say(`       ${warning}`);
}

/** Models whose tables have no names, with positions, types of tokens, an encoder, and several ways to draw a token. */
const KINDS = ["gpt2", "gpt2_sampled", "gpt2_beams", "bert", "t5"] as const;
const KINDS_PROGRAM = new URL("../../tests/fixtures/transformers_kinds.py", import.meta.url).pathname;

/** Holds the steps of one kind of model against its own forward passes, without a name of any table. */
async function tellKind(kind: (typeof KINDS)[number]): Promise<void> {
  const [version] = readdirSync(join(environment, "lib"));
  const library = join(environment, "lib", version ?? "", "site-packages", "torch", "lib", "libtorch_cpu.so");
  const run = await runEngine([python, KINDS_PROGRAM, kind], { objects: [library] });
  const told = run.steps.filter((step) => step.kind === "decode").map(({ n_tokens }) => n_tokens);
  const passes = JSON.parse(run.stdout.trim().split("\n").at(-1) ?? "[]") as number[];
  const isGood = passes.length > 0 && JSON.stringify(told) === JSON.stringify(passes);
  if (!isGood) failed += 1;
  say(
    `${isGood ? "right" : "WRONG"}  ${kind}: ${told.length} steps for ${passes.length} forward passes, tokens compared one by one`,
  );
}

const CACHES_PROGRAM = new URL("../../tests/fixtures/static_caches.py", import.meta.url).pathname;

/** Holds the labels of static caches, and the rows of their tokens, against the program. */
function tellCaches(what: string, { report, text }: { report: Report; text: string }): void {
  const line = text.split("\n").find((one) => one.startsWith('{"versions"'));
  if (line === undefined) throw new Error(`the program did not say what it does: ${text}`);
  const judged = judgeCaches(report.run_dir, JSON.parse(line) as SaidCaches, what.startsWith("attach"));
  const { caches, right, missing, wrong, least_pct, rows, rowsDiffering } = judged;
  const isGood = right > 0 && missing === 0 && wrong === 0 && rows > 0 && rowsDiffering === 0;
  if (!isGood) failed += 1;
  say(`${isGood ? "right" : "WRONG"}  ${what}: ${caches} caches`);
  say(
    `       ${right} bytes of keys and values by their layer, ${missing} without, ${wrong} where or when none is; in ${least_pct.toFixed(1)} % of the time of a cache at least`,
  );
  say(`       ${rows} rows with their position and the passes that need them, ${rowsDiffering} missing or otherwise`);
  for (const warning of report.warnings) say(`       ${warning}`);
}

/** A part of why figures of rows are refused that were made anew by what is not probed. */
const REORDERED = "as where a batch is reordered";
const MOVES_PROGRAM = new URL("../../tests/fixtures/dynamic_caches.py", import.meta.url).pathname;

/** Holds the labels of dynamic caches against where each layer lay after each pass. */
function tellMoves(what: string, { report, text }: { report: Report; text: string }): void {
  const line = text.split("\n").find((one) => one.startsWith('{"versions"'));
  if (line === undefined) throw new Error(`the program did not say what it does: ${text}`);
  const said = JSON.parse(line) as SaidMoves;
  const judged = judgeMoves(report.run_dir, said, what.startsWith("attach"));
  const { stays, right, right_bytes, bytes, wrong, held_pct } = judged;
  const ofRows = judgeMovedRows(report.run_dir, said, what.startsWith("attach"));
  // What becomes of rows that are put into another order is not known: none may be wrong, and figures by steps are refused.
  const isReordered = what.endsWith("reordered");
  const isRefused = report.metrics.some(
    ({ region_type, why }) => region_type === "kv_cache" && why?.includes(REORDERED),
  );
  const isWhole = isReordered ? ofRows.untold > 0 && isRefused : ofRows.missing === 0 && !isRefused;
  const isGood = stays > 0 && right === stays && wrong === 0 && ofRows.rows > 0 && ofRows.wrong === 0 && isWhole;
  if (!isGood) failed += 1;
  say(`${isGood ? "right" : "WRONG"}  ${what}: ${right} of ${stays} stays by layer, ${right_bytes} of ${bytes} bytes`);
  say(`       ${wrong} labels that are none of these; labelled in ${held_pct.toFixed(1)} % of their time`);
  say(
    `       ${ofRows.rows} rows with position, first write, passes that copied them and end, ${ofRows.missing} missing or otherwise, ${ofRows.wrong} that are none; ${ofRows.untold} that cannot be known`,
  );
  for (const warning of report.warnings) say(`       ${warning}`);
}

const folder = mkdtempSync(join(tmpdir(), "mrm-engines-"));
try {
  const output = join(folder, "results");
  const model = join(folder, "model");
  for (const way of ["mapped", "bf16", "loaded"]) {
    tell(`run, weights ${way}`, await launched([PROGRAM, model, way], output));
    tell(`attach, weights ${way}`, await attached([PROGRAM, model, way], output));
  }
  for (const [attention, type] of [
    ["sdpa", "float32"],
    ["eager", "float32"],
    ["sdpa", "bfloat16"],
    ["eager", "bfloat16"],
  ] as const) {
    const how = [model, attention, type];
    const what = `caches, ${attention}, ${type}`;
    tellCaches(`run, static ${what}`, await launched([CACHES_PROGRAM, ...how], output));
    tellMoves(`run, dynamic ${what}`, await launched([MOVES_PROGRAM, ...how], output));
    if (attention !== "sdpa") continue;
    tellCaches(`attach, static ${what}`, await attached([CACHES_PROGRAM, ...how], output, "12s"));
    tellMoves(`attach, dynamic ${what}`, await attached([MOVES_PROGRAM, ...how], output));
  }
  const reordered = [MOVES_PROGRAM, model, "sdpa", "float32", "reordered"];
  tellMoves("run, dynamic caches, reordered", await launched(reordered, output));
  for (const kind of KINDS) await tellKind(kind);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed > 0 ? 1 : 0);
