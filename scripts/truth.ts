#!/usr/bin/env bun
/**
 * How often the intervals of figures hold the truth: `bun run truth [--sources | --traced | --per-byte] [--seeds N] [--most N] [--first N] [--jobs N]
 * [--world TEXT] [--traces FOLDER] [--write]`. Every world of tests/validity/laboratory/worlds.ts is run under the product's own policy
 * with N seeds, from --first on (1), or, with --sources, every world of sources other than watches, or, with --traced, real programs
 * of which the exact trace is sampled, or, with --per-byte, the worlds in which words differ, for the figures that count each byte once;
 * with --write their table is written anew, in docs/accuracy-watches.md, -sources.md, -samples.md or -per-byte.md. With --most
 * a world of which a row is in doubt after N seeds runs on to so many. It needs neither root nor an idle machine. A run of a world takes
 * about a quarter of a second of CPU: all 171 with 200 seeds take some 75 minutes of two CPUs.
 *
 * --traced needs valgrind, cc and git. It records the traces first, which takes a minute: with --traces they are kept in FOLDER
 * and not recorded again. 200 runs of each of its worlds take some 8 minutes on one CPU.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

/** Rows of the worlds of one child, a line each. */
async function rowsOf(job: number): Promise<CoverageRow[]> {
  const command = [
    process.execPath,
    import.meta.path,
    "--share",
    String(job),
    "--seeds",
    String(seeds),
    "--most",
    String(most),
    "--first",
    String(first),
  ];
  const perByte = values["per-byte"] ? ["--per-byte"] : [];
  const kind = values.traced ? ["--traced", "--traces", traces] : values.sources ? ["--sources"] : perByte;
  const which = ["--jobs", String(jobs), "--world", values.world, ...kind];
  const child = Bun.spawn([...command, ...which], { stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the child for share ${job} failed`);
  return text
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as CoverageRow);
}

if (values.share !== undefined) {
  for (const [i, kind] of worlds.entries()) {
    if (i % jobs !== Number(values.share)) continue;
    for (const row of await kind.coverage()) process.stdout.write(`${JSON.stringify(row)}\n`);
    process.stderr.write(`${kind.name}\n`);
  }
} else {
  if (values.traced) {
    const wanted = TRACED_PROGRAMS.filter(({ name }) => worlds.some((world) => world.name.startsWith(name)));
    await recordAll(wanted, traces);
  }
  const rows = (await Promise.all(Array.from({ length: jobs }, (_, job) => rowsOf(job)))).flat();
  const order = new Map(worlds.map(({ name }, i) => [name, i]));
  rows.sort((a, b) => (order.get(a.world) ?? 0) - (order.get(b.world) ?? 0));
  const table = values.traced ? shortTable(rows) : accuracyTable(rows);
  process.stdout.write(`${table}\n`);
  if (values.write) {
    const page = readFileSync(PAGE, "utf8");
    const [before = "", rest = ""] = page.split(BEGIN);
    writeFileSync(PAGE, `${before}${BEGIN}\n${table}\n${END}${rest.split(END)[1] ?? ""}`);
  }
  if (values.traced && values.traces === undefined) rmSync(traces, { recursive: true });
}
