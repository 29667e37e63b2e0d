#!/usr/bin/env bun
/**
 * How often the intervals of figures hold the truth: `bun run truth [--sources | --traced | --per-byte] [--seeds N] [--most N] [--first N] [--jobs N]
 * [--world TEXT] [--traces FOLDER] [--rows FILE] [--write]`. Every world of tests/validity/laboratory/worlds.ts is run under the product's own policy
 * with N seeds, from --first on (1), or, with --sources, every world of sources other than watches, or, with --traced, real programs
 * of which the exact trace is sampled, or, with --per-byte, the worlds in which words differ, for the figures that count each byte once;
 * with --write their table is written anew, in docs/accuracy-watches.md, -sources.md, -samples.md or -per-byte.md. With --most
 * a world of which a row is in doubt after N seeds runs on to so many. It needs neither root nor an idle machine. A run of a world takes
 * about a quarter of a second of CPU: all with 200 seeds should take some 75 minutes of two CPUs. With --rows what each world gave is kept in FILE, and
 * the same command goes on from there when it was stopped.
 *
 * --traced needs valgrind, cc and git. It records the traces first, which takes a minute: with --traces they are kept in FOLDER
 * and not recorded again. 200 runs of each of its worlds take some 8 minutes on one CPU.
 */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { nextUse, stillNeeded } from "../src/analyse/metrics/next-times.ts";
import { METRICS } from "../src/analyse/metrics/registry.ts";
import { type CoverageRow, coverageOf } from "../src/simulate/coverage.ts";
import { accuracyTable, shortTable } from "../tests/validity/laboratory/accuracy-table.ts";
import { SOURCE_WORLDS, sourceCoverage } from "../tests/validity/laboratory/sources/source-worlds.ts";
import { recordAll, TRACED_PROGRAMS } from "../tests/validity/laboratory/traced/traced-programs.ts";
import { tracedWorlds } from "../tests/validity/laboratory/traced/traced-worlds.ts";
import { UNLIKE_WORDS, WORLDS } from "../tests/validity/laboratory/worlds.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    most: { type: "string" },
    first: { type: "string", default: "1" },
    jobs: { type: "string", default: String(availableParallelism()) },
    world: { type: "string", default: "" },
    write: { type: "boolean", default: false },
    sources: { type: "boolean", default: false },
    traced: { type: "boolean", default: false },
    "per-byte": { type: "boolean", default: false },
    traces: { type: "string" },
    rows: { type: "string" },
    /** Every so many worlds, by a child of this program. */
    share: { type: "string" },
  },
});
const seeds = Number(values.seeds);
const most = Number(values.most ?? values.seeds);
const first = Number(values.first);
const jobs = Number(values.jobs);
const traces = values.traces ?? (values.traced ? mkdtempSync(join(tmpdir(), "mrm-traces-")) : "");
const sourceWorlds = values.traced ? tracedWorlds(TRACED_PROGRAMS, traces) : values.sources ? SOURCE_WORLDS : null;
const PER_BYTE = [nextUse, stillNeeded];
const families = values["per-byte"] ? PER_BYTE : METRICS.filter((family) => !PER_BYTE.includes(family));
const kinds = values["per-byte"] ? WORLDS.filter(({ name }) => UNLIKE_WORDS.includes(name)) : WORLDS;
const all =
  sourceWorlds?.map((world) => ({ name: world.name, coverage: () => sourceCoverage(world, { seeds, first }) })) ??
  kinds.map((kind) => ({ name: kind.name, coverage: () => coverageOf(kind, { seeds, most, first, families }) }));
const worlds = all.filter(({ name }) => name.includes(values.world));
const [TABLE, PAGE_NAME] = values.traced
  ? ["table of traced programs", "samples"]
  : values.sources
    ? ["table of other sources", "sources"]
    : values["per-byte"]
      ? ["table of figures per byte", "per-byte"]
      : ["table", "watches"];
const PAGE = join(import.meta.dir, "..", "docs", `accuracy-${PAGE_NAME}.md`);
const [BEGIN, END] = [`<!-- ${TABLE} -->`, `<!-- end of ${TABLE} -->`];

/** What was asked for, in the first line of the file of rows. */
const ASKED = JSON.stringify({ page: PAGE_NAME, seeds, most, first });

interface WorldRows {
  readonly world: string;
  readonly rows: readonly CoverageRow[];
}

/** The worlds that are done, by their names. @throws Error where the file is of another command */
function worldsIn(path: string): Map<string, readonly CoverageRow[]> {
  const [asked, ...lines] = readFileSync(path, "utf8").trim().split("\n");
  if (asked !== ASKED) throw new Error(`${path} has rows of ${asked}, not of ${ASKED}: give another --rows`);
  return new Map(lines.map((line) => JSON.parse(line) as WorldRows).map(({ world, rows }) => [world, rows]));
}

/** Adds rows of every so many worlds to the file, but for those that are there. */
async function addRows(path: string, job: number): Promise<void> {
  const done = worldsIn(path);
  for (const [i, kind] of worlds.entries()) {
    if (i % jobs !== job || done.has(kind.name)) continue;
    appendFileSync(path, `${JSON.stringify({ world: kind.name, rows: await kind.coverage() } satisfies WorldRows)}\n`);
    process.stderr.write(`${kind.name}\n`);
  }
}

/** Has one child do so. */
async function runChild(path: string, job: number): Promise<void> {
  const numbers = { share: job, seeds, most, first, jobs };
  const command = [process.execPath, import.meta.path, "--rows", path, "--world", values.world];
  for (const [name, value] of Object.entries(numbers)) command.push(`--${name}`, String(value));
  if (values["per-byte"]) command.push("--per-byte");
  else if (values.traced) command.push("--traced", "--traces", traces);
  else if (values.sources) command.push("--sources");
  const child = Bun.spawn(command, { stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error(`the child for share ${job} failed`);
}

if (values.share !== undefined) await addRows(values.rows ?? "", Number(values.share));
else {
  if (values.traced) {
    const wanted = TRACED_PROGRAMS.filter(({ name }) => worlds.some((world) => world.name.startsWith(name)));
    await recordAll(wanted, traces);
  }
  const kept = values.rows === undefined ? mkdtempSync(join(tmpdir(), "mrm-truth-")) : null;
  const path = values.rows ?? join(kept ?? "", "rows.jsonl");
  if (!existsSync(path)) writeFileSync(path, `${ASKED}\n`);
  worldsIn(path);
  await Promise.all(Array.from({ length: jobs }, (_, job) => runChild(path, job)));
  const done = worldsIn(path);
  const rows = worlds.flatMap(({ name }) => done.get(name) ?? []);
  const table = values.traced ? shortTable(rows) : accuracyTable(rows);
  process.stdout.write(`${table}\n`);
  if (values.write) {
    const page = readFileSync(PAGE, "utf8");
    const [before = "", rest = ""] = page.split(BEGIN);
    writeFileSync(PAGE, `${before}${BEGIN}\n${table}\n${END}${rest.split(END)[1] ?? ""}`);
  }
  if (kept !== null) rmSync(kept, { recursive: true });
  if (values.traced && values.traces === undefined) rmSync(traces, { recursive: true });
}
