/**
 * A program that reads and faults at known rates, recorded by a tracer that is killed at a random moment, or whose disk is
 * full: what is left tells why the recording ended, and tells the same rates as a run that was left alone.
 *
 * KILLS=50 in the environment makes as many runs, longer ones, so that more is told with both ends, and writes a line for each
 * run and each figure. SEED=N chooses other moments, so that they can be made in parts.
 */
import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tableBatches } from "../../src/columnar/read/table-batches.ts";
import { rowsFromBatch } from "../../src/columnar/rows.ts";
import { readFacts } from "../../src/run-directory/facts.ts";
import { listSegments } from "../../src/run-directory/segment-files.ts";
import type { RunJson } from "../../src/schema/run-json.ts";
import { seededDraws } from "../../src/statistics/prng.ts";
import { compileProgram } from "../fixtures/compile.ts";
import { registersFree } from "../fixtures/registers-free.ts";
import { waitUntil } from "../fixtures/wait-until.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli, startCli } from "../integration/run/cli.ts";

setDefaultTimeout(600_000);
afterEach(endLeftRuns);

const BY_HAND = process.env.KILLS !== undefined;
const KILLS = Number(process.env.KILLS ?? 5);
const SEED = Number(process.env.SEED ?? 7);
const PERIOD_NS = 2_000_000;
const PAGES = 8;
const FAULTS_PER_S = (PAGES * 1e9) / PERIOD_NS;
const WHOLE_S = BY_HAND ? 8 : 6;
/** A kill comes so long after the facts of the recording were begun. */
const SOONEST_MS = BY_HAND ? 4000 : 1200;
const LATEST_MS = BY_HAND ? 9000 : 2200;
/** From one closing to the next, as share of what was recorded by then, with what a busy machine adds. */
const MOST_LOST = 0.75;
const TOLERANCE = 0.05;
/** What the program and those that start it may take until its first period, and their own faults. */
const START_S = 0.25;
const START_FAULTS = 600;
/** Gaps from which a median says something. */
const LEAST_GAPS = 30;

/** Ahead of what else runs: one that was kept from its CPU makes up for the periods that it missed, at a pace that is not its own. */
const AHEAD = ["nice", "-n", "-15"];

const program = (seconds: number): string[] => [
  ...AHEAD,
  compileProgram("steady-rates"),
  ...[seconds, PERIOD_NS, PAGES].map(String),
];
const BUDGET = BY_HAND ? ["--budget", "5"] : [];
const options = (output: string): string[] => ["--json", ...QUICK, ...BUDGET, "--output", output, "--run-id", "run"];

interface Rates {
  readonly faults: number;
  readonly recorded_s: number;
  /** Median time between two reads of a watched word; NaN where too few were seen. */
  readonly gap_ns: number;
}

/** Accesses in files of each watch, and the watches themselves. */
function watchesOf(runDir: string) {
  const rows = <T extends "access" | "watch">(table: T) =>
    listSegments(runDir, table).flatMap(({ path }) => [...tableBatches(path, table)].flatMap(rowsFromBatch));
  const hits = Map.groupBy(rows("access"), ({ watch_id }) => watch_id);
  return rows("watch").map((watch) => ({ ...watch, hits: hits.get(watch.watch_id) ?? [] }));
}

function ratesOf(report: RunJson): Rates {
  const faults = report.metrics.find(
    ({ metric, source, scope, phase }) =>
      metric === "faults" && source === "fault" && scope === "process" && phase === "all",
  );
  // Loads: the pages that come and go are only stored to.
  const watched = watchesOf(report.run_dir).filter(({ stratum }) => stratum.includes("anon"));
  const gaps = watched.flatMap(({ hits }) => {
    const loads = hits.filter(({ op_type }) => op_type === "load");
    const times = loads.map(({ timestamp_ns }) => Number(timestamp_ns)).sort((a, b) => a - b);
    return times.slice(1).map((time, i) => time - (times[i] ?? 0));
  });
  gaps.sort((a, b) => a - b);
  return {
    faults: Number(faults?.value),
    recorded_s: Number(report.target.wall_s),
    gap_ns: gaps.length < LEAST_GAPS ? Number.NaN : Number(gaps[gaps.length >> 1]),
  };
}

function expectRates({ faults, recorded_s, gap_ns }: Rates): void {
  expect(faults).toBeGreaterThan((1 - TOLERANCE) * FAULTS_PER_S * (recorded_s - START_S));
  expect(faults).toBeLessThan((1 + TOLERANCE) * FAULTS_PER_S * recorded_s + START_FAULTS);
  if (!Number.isNaN(gap_ns)) expect(Math.abs(gap_ns / PERIOD_NS - 1)).toBeLessThan(TOLERANCE);
}

/** Figures that do not grow with the run, and are of the program alone. */
const STEADY =
  /^(?:(?:read|write)_bytes_per_s|hits_per_pass|(?:iai|age_at_read|retention|reuse)_\w+|reads_per_write|write_once_ratio|working_set_bytes|allocated_bytes)$/;

type Metric = RunJson["metrics"][number];

const nameOf = ({ metric, mapping_kind, grain_bytes, source }: Metric): string =>
  `${metric} ${mapping_kind ?? ""} ${grain_bytes ?? ""} ${source}`;

/** The steady figures of a run that say something, each with its ends, infinite where there is none. */
function steadyFigures(report: RunJson): Map<string, readonly [lo: number, hi: number]> {
  const says = report.metrics.filter(({ metric, status }) => STEADY.test(metric) && ["ok", "bound"].includes(status));
  return new Map(says.map((row) => [nameOf(row), [row.lo ?? 0, row.hi ?? Number.POSITIVE_INFINITY]] as const));
}

/**
 * An interval three times as wide, as a ratio; an end that stands alone gives by as much as a factor of two. That two of the
 * same truth do not touch then takes 8 standard deviations of their difference where two of 95 % take 2.8.
 */
function widened([lo, hi]: readonly [number, number]): readonly [lo: number, hi: number] {
  const slack = lo > 0 && hi < Number.POSITIVE_INFINITY ? hi / lo : 2;
  return [lo / slack, hi * slack];
}

const touch = ([a, b]: readonly [number, number], [c, d]: readonly [number, number]): boolean => a <= d && c <= b;

function runDirOf(output: string): string {
  const [model = ""] = readdirSync(output);
  return join(output, model, "run");
}

/** Starts a run, and kills its tracer, and then its command, so long after the recording began. */
async function killed(afterMs: number): Promise<string> {
  await registersFree();
  const output = outputFolder();
  const run = startCli(["run", ...options(output), "--", ...program(60)]);
  const pid = (): number => {
    try {
      return readFacts(runDirOf(output), "", "").target.pid;
    } catch {
      // The folder or its facts are not there yet.
      return 0;
    }
  };
  expect(await waitUntil(() => pid() > 0)).toBe(true);
  await Bun.sleep(afterMs);
  run.signal("SIGKILL");
  await run.exited;
  process.kill(pid(), "SIGKILL");
  await run.ended;
  return runDirOf(output);
}

let whole: RunJson;

beforeAll(async () => {
  await registersFree();
  whole = jsonOf(await runCli(["run", ...options(outputFolder()), "--", ...program(WHOLE_S)])) as unknown as RunJson;
});

test("a run that is left alone tells the rates of its program", () => {
  expect(whole.stopped_by).toBe("target_ended");
  expectRates(ratesOf(whole));
});

describe(`a tracer that is killed at one of ${KILLS} random moments`, () => {
  const runs: { readonly after_ms: number; readonly report: RunJson; readonly rates: Rates }[] = [];

  beforeAll(async () => {
    const random = seededDraws(SEED);
    for (let i = 0; i < KILLS; i++) {
      const after_ms = Math.round(SOONEST_MS + random() * (LATEST_MS - SOONEST_MS));
      const analysed = await runCli(["analyse", "--json", await killed(after_ms)]);
      expect(analysed.exitCode).toBe(0);
      const report = jsonOf(analysed) as unknown as RunJson;
      const run = { after_ms, report, rates: ratesOf(report) };
      runs.push(run);
      if (!BY_HAND) continue;
      const watches = watchesOf(report.run_dir);
      const cut = watches.filter(({ hits, n_accesses }) => hits.length < Number(n_accesses)).length;
      const { faults, recorded_s, gap_ns } = run.rates;
      process.stderr.write(
        `${i + 1} | ${after_ms} | ${Math.round(Number(report.target.wall_s) * 1000)} | ${watches.length} | ${cut} | ${Math.round(faults / recorded_s)} | ${(gap_ns / 1e6).toFixed(3)} | ${report.validity}\n`,
      );
    }
  });

  test("leaves what was known: the command, what was lost and cost, and why it ended", () => {
    for (const { report } of runs) {
      expect(report.stopped_by).toBe("killed");
      expect(report.validity).not.toBe("clean");
      expect(report.reasons.join()).toContain("killed");
      expect(report.target.command).toEqual(program(60));
      expect(report.target).toMatchObject({ exit_code: null, signal: null });
      expect(report.ledger.some(({ stream, stage }) => stream === "fault" && stage === "segments")).toBe(true);
      expect(
        report.ledger.every(
          ({ seen, kept, filtered, dropped }) => Number(seen) === Number(kept) + Number(filtered) + Number(dropped),
        ),
      ).toBe(true);
      expect(report.loss.every(({ lost_pct }) => lost_pct !== null && lost_pct < 1)).toBe(true);
      expect(report.observer.cpu_pct).toBeGreaterThan(0);
    }
  });

  test("has in files all but what came after the last closing", () => {
    for (const { after_ms, report } of runs) {
      const recorded_ms = Number(report.target.wall_s) * 1000;
      expect(recorded_ms).toBeLessThan(after_ms + 1000);
      expect(recorded_ms).toBeGreaterThan((1 - MOST_LOST) * after_ms);
    }
  });

  test("has no watch in files without its accesses", () => {
    // Another program may have had the registers in one of the runs.
    const watches = runs.flatMap(({ report }) => watchesOf(report.run_dir));
    expect(watches.length).toBeGreaterThan(0);
    expect(watches.filter(({ hits, n_accesses }) => hits.length < Number(n_accesses))).toEqual([]);
  });

  test("leaves figures that agree with those of a run that was left alone", () => {
    const ofWhole = steadyFigures(whole);
    const counts = new Map<string, [compared: number, agreed: number]>();
    const apart: (readonly unknown[])[] = [];
    for (const { report } of runs) {
      for (const [name, ends] of steadyFigures(report)) {
        const others = ofWhole.get(name);
        if (others === undefined) continue;
        const [compared, agreed] = counts.get(name) ?? [0, 0];
        counts.set(name, [compared + 1, agreed + (touch(ends, others) ? 1 : 0)]);
        if (!touch(widened(ends), widened(others))) apart.push([name, ends, others]);
      }
    }
    if (BY_HAND) for (const [name, [all, agreed]] of counts) process.stderr.write(`${name} | ${agreed} of ${all}\n`);
    expect(apart).toEqual([]);
    // Nothing is left to chance in these; short runs may be told too little of by watches.
    expect([...counts.keys()].filter((name) => name.startsWith("allocated_bytes")).length).toBeGreaterThan(2);
  });

  test("leaves the rates of the program, as a run that was left alone does", () => {
    for (const { rates } of runs) expectRates(rates);
    expect([ratesOf(whole), ...runs.map(({ rates }) => rates)].some(({ gap_ns }) => gap_ns > 0)).toBe(true);
  });
});

test("a disk that is full in the middle of a run leaves the rates of the program too", async () => {
  await registersFree();
  const output = join(outputFolder(), "small");
  mkdirSync(output);
  const mount = (how: string): void => {
    expect(Bun.spawnSync(["mount", "-t", "tmpfs", "-o", how, "none", output]).stderr.toString()).toBe("");
  };
  mount("size=8m");
  try {
    // The third closing comes 3.5 s after the first row.
    const fill = `(sleep 2; exec dd if=/dev/zero of=${output}/filler bs=1k 2>/dev/null) &`;
    const command = ["sh", "-c", `${fill} exec ${program(4.2).join(" ")}`];
    const ended = await runCli(["run", ...options(output), "--", ...command]);
    expect(ended.exitCode).toBe(3);
    const { run_dir } = jsonOf(ended) as { run_dir: string };
    expect(readFacts(run_dir, "", "")).toMatchObject({ stopped_by: "disk", target: { exit_code: 0 } });
    rmSync(join(output, "filler"));
    mount("remount,size=64m");
    const report = jsonOf(await runCli(["analyse", "--json", run_dir])) as unknown as RunJson;
    expect(report.stopped_by).toBe("disk");
    expect(report.warnings.join()).toMatch(/recording stopped after .*s: .*ENOSPC.* rows that came later/);
    expectRates(ratesOf(report));
  } finally {
    Bun.spawnSync(["umount", output]);
  }
});
