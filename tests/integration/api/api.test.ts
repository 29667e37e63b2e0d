import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analyse, attach, MrmTraceError, openRun, type RunResult, run } from "mrm-trace";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import { columnsOf, STREAMS } from "../../../src/schema/columns.ts";
import { balances, placeWords } from "../../../src/schema/ledger.ts";
import { startLiveTree } from "../../fixtures/live-tree.ts";

let folder = "";
let made: RunResult;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-api-"));
  made = await run({
    output: folder,
    watch_registers: 0,
    baseline: "100ms",
    commandStdout: "stderr",
    demo: { params: "1m", tokens: 200 },
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A copy of the run that a test may damage. */
function copyOfRun(name: string): string {
  const path = join(folder, name);
  cpSync(made.runDir, path, { recursive: true });
  return path;
}

async function refusal(call: () => unknown): Promise<MrmTraceError> {
  const error = await (async () => call())().catch((cause: unknown) => cause);
  if (!(error instanceof MrmTraceError)) throw error;
  return error;
}

describe("run", () => {
  test("reports what the command line reports", () => {
    expect(made.exitCode).toBe(0);
    expect(made.report.run_dir).toBe(made.runDir);
    expect(made.report.target.decode_tokens).toBeGreaterThanOrEqual(199);
  });

  test("runs beside another, ends by abort, and leaves nothing in the process that calls it", async () => {
    const program = new URL("./program.ts", import.meta.url).pathname;
    const child = Bun.spawn([process.execPath, program, folder], { stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, stderr.split("\n").length > 20_000]).toEqual([0, true]);
    const said = JSON.parse(stdout);
    expect(said).toMatchObject({
      first: { exitCode: 0 },
      beside: { exitCode: 0, shared: [] },
      second: { exitCode: 143, signal: "SIGTERM" },
      listeners: [0, 0, 0, 0],
      objects: [],
      exitCode: null,
    });
    expect(said.second.wall_s).toBeLessThan(600);
    expect(said.phases).toEqual(expect.arrayContaining(["baseline", "running", "analysing"]));
  });

  test("that is aborted before it begins records nothing", async () => {
    const error = await refusal(() => run({ output: folder, command: ["true"], signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: "terminated", exitCode: 143 });
  });

  test("refuses what it does not know or take, with the nearest", async () => {
    const misspelt = JSON.parse('{"bugdet": 1}');
    expect((await refusal(() => run(misspelt))).hint).toBe("did you mean budget?");
    expect((await refusal(() => run({ demo: JSON.parse('{"tokns": 1}') }))).hint).toBe("did you mean demo.tokens?");
    expect(await refusal(() => run({ budget: 99 }))).toMatchObject({ code: "usage" });
    expect(await refusal(() => run({ command: ["/no/such/program"], output: folder }))).toMatchObject({
      code: "target",
    });
  });
});

describe("attach", () => {
  test("traces a process that the caller started, until it is aborted, and leaves it as it is", async () => {
    await using tree = await startLiveTree();
    const controller = new AbortController();
    const traced = await attach({
      process: tree.pid,
      output: folder,
      watch_registers: 0,
      baseline: "100ms",
      signal: controller.signal,
      onProgress: ({ phase }) => {
        if (phase === "running") setTimeout(() => controller.abort(), 300);
      },
    });
    expect(traced.exitCode).toBe(143);
    expect(traced.report.target).toMatchObject({ pid: tree.pid, exit_code: null, signal: null });
    using opened = openRun(traced.runDir);
    expect(opened.table("mapping").numRows).toBeGreaterThan(20);
    expect(await tree.end()).toBe(7);
  });

  test("refuses a process that is not there, and options of a launch", async () => {
    expect(await refusal(() => attach({ process: 4194303 }))).toMatchObject({ code: "target" });
    expect(await refusal(() => attach({ process: "nobody-is-named-so" }))).toMatchObject({ code: "target" });
    const launching = JSON.parse(`{"process": ${process.pid}, "memray": ["native"]}`);
    expect(await refusal(() => attach(launching))).toMatchObject({ code: "usage" });
  });
});

describe("openRun", () => {
  test("gives metadata, ledger and figures of the run", async () => {
    using opened = openRun(made.runDir);
    expect(opened.metadata.run_id).toBe(made.report.run_id);
    expect(opened.metadata.validity.class).toBe(made.report.validity);
    expect(opened.ledger.length).toBe(made.report.ledger.length);
    for (const row of opened.ledger) expect([placeWords(row), balances(row)]).toEqual([placeWords(row), true]);
    expect(opened.metrics()).toEqual([...made.report.metrics] as never);
  });

  test("gives every table with the columns, types and rows of its files", async () => {
    using opened = openRun(made.runDir);
    for (const name of [...STREAMS, "trace", "region_map", "kv_block_lifecycle", "metrics"] as const) {
      const table = opened.table(name);
      expect([name, table.schema.fields.map((field) => field.name)]).toEqual([
        name,
        columnsOf(name).map((column) => column.name),
      ]);
    }
    const regions = opened.table("region_map");
    const weights = regions.toArray().filter((row) => row.region_type === "weight");
    const bytes: bigint = weights.reduce((sum, row) => sum + row.size_bytes, 0n);
    expect(Number(bytes)).toBeGreaterThan(400_000);
    const steps = opened.table("step");
    expect(steps.toArray().filter((row) => row.kind === "decode").length).toBeGreaterThanOrEqual(200);
  });

  test("gives the same rows in batches, and lets a loop leave early", async () => {
    using opened = openRun(made.runDir);
    let rows = 0;
    for (const batch of opened.batches("fault")) rows += batch.numRows;
    expect(rows).toBe(opened.table("fault").numRows);
    expect(rows).toBeGreaterThan(1000);
    for (const batch of opened.batches("fault")) {
      expect(batch.getChild("address")?.get(0)).toBeTypeOf("bigint");
      break;
    }
  });

  test("is over after close: a loop that goes on and a new table are refused", async () => {
    const opened = openRun(made.runDir);
    const going = opened.batches("step");
    going.next();
    opened.close();
    expect(await refusal(() => going.next())).toMatchObject({
      code: "usage",
      message: expect.stringContaining("closed"),
    });
    expect(await refusal(() => opened.table("trace"))).toMatchObject({ code: "usage" });
  });

  test("counts damaged segments, and refuses a damaged derived file until it is derived again", async () => {
    const runDir = copyOfRun("damaged");
    const segments = listSegments(runDir, "process").map(({ path }) => path);
    for (const segment of segments) truncateSync(segment, 100);
    truncateSync(join(runDir, "region_map.parquet"), 100);
    using opened = openRun(runDir);
    expect(opened.table("process").numRows).toBe(0);
    expect(await refusal(() => opened.table("region_map"))).toMatchObject({
      code: "data_quality",
      hint: expect.stringContaining("mrm-trace analyse"),
    });
    opened.table("process");
    expect(opened.unreadable.map(({ path }) => path)).toEqual(segments);
    const again = await analyse(runDir);
    // What the process stream told is refused now; nothing else has changed.
    const [lost, others] = [true, false].map((wanted) =>
      again.report.metrics.filter(({ source }) => (source === "process") === wanted),
    );
    expect(new Set(lost?.map(({ status }) => status))).toEqual(new Set(["not_identifiable"]));
    expect(others?.length).toBe(made.report.metrics.filter(({ source }) => source !== "process").length);
    expect(opened.table("region_map").numRows).toBeGreaterThan(0);
  });

  test("refuses what is no run, what was not analysed, and what another version wrote", async () => {
    expect(await refusal(() => openRun(join(folder, "none")))).toMatchObject({ code: "usage" });
    expect(await refusal(() => openRun(folder))).toMatchObject({ code: "usage" });
    const unanalysed = copyOfRun("unanalysed");
    rmSync(join(unanalysed, "metadata.json"));
    expect(await refusal(() => openRun(unanalysed))).toMatchObject({
      code: "data_quality",
      hint: expect.stringContaining(`mrm-trace analyse ${unanalysed}`),
    });
    const runDir = copyOfRun("later");
    const path = join(runDir, "metadata.json");
    copyFileSync(path, `${path}.ours`);
    writeFileSync(path, '{"schema_version":"9.0"}');
    expect(await refusal(() => openRun(runDir))).toMatchObject({
      code: "data_quality",
      message: expect.stringContaining("has schema version 9.0; this mrm-trace reads"),
    });
    for (const text of ["", "[]", "null", "{", '{"schema_version":"1.0"}', '{"schema_version":7}']) {
      writeFileSync(path, text);
      expect([text, (await refusal(() => openRun(runDir))).code]).toEqual([text, "data_quality"]);
    }
  });
});
