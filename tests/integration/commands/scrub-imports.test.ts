/** Scrubbing what was recorded by other programs, and the refusal of runs of which the recording is gone. */
import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase, parquetScan } from "../../../src/sql/database.ts";
import { memrayWriter } from "../../fixtures/memray-writer.ts";
import { MEM_LOADS, perfData, recordWriter } from "../../fixtures/perf-data.ts";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { jsonOf, outputFolder, runCli } from "../run/cli.ts";

const folder = outputFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const shared = join(folder, "shared");

/** A word that stands in the names of files, programs, functions and threads. */
const SECRET = "plantedZq";
const PLACE = 0x7f12_3450_0000n;
const PID = 31_337;

async function perfRecording(): Promise<Uint8Array> {
  const write = recordWriter();
  const records = [
    write.comm(MEM_LOADS, PID, SECRET, 5n, true),
    write.mmap2(MEM_LOADS, {
      ...{ pid: PID, addr: PLACE, size: 1n << 20n, prot: 3, time: 6n },
      path: `/home/${SECRET}/model.gguf`,
    }),
  ];
  for (let i = 0; i < 500; i++) {
    const time = 1_000_000n + BigInt(i) * 100_000n;
    const addr = PLACE + BigInt((i * 64) % 2 ** 20);
    records.push(write.sample(MEM_LOADS, { ip: 0x1000n, pid: PID, time, addr, weight: 30n, dataSrc: 0x68100142n }));
  }
  return await perfData({ mode: "file", events: [MEM_LOADS], records });
}

function memrayRecording(): Uint8Array {
  const writer = memrayWriter({ version: 13, endMs: 1_700_000_001_000, pid: PID });
  writer.code(1, SECRET, `/srv/${SECRET}.py`, 12);
  writer.thread(1);
  writer.threadName(SECRET);
  writer.push(1);
  for (let i = 0; i < 400; i++) {
    if (i % 100 === 0) writer.memory(1e6, i / 10);
    writer.allocation("malloc", Number(PLACE) + i * 131_072, i + 1);
    if (i >= 10 && i % 2 === 0) writer.allocation("free", Number(PLACE) + (i - 10) * 131_072, 0);
  }
  writer.trailer();
  return writer.take();
}

const filesBelow = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** The bytes of every file, and every value of every row of the Parquet files, as text. */
async function contents(place: string): Promise<string[]> {
  await using database = await openDatabase();
  const found = filesBelow(place).map((path) => path.slice(place.length) + readFileSync(path, "latin1"));
  for (const path of filesBelow(place).filter((name) => name.endsWith(".parquet"))) {
    for (const row of await database.rows(`SELECT * FROM ${parquetScan([path])}`)) {
      for (const [name, value] of Object.entries(row)) found.push(`${name}=${value}`);
    }
  }
  return found;
}

describe("an import", () => {
  test.each([
    ["perf.data", perfRecording],
    ["memray.bin", memrayRecording],
  ] as const)("of %s is scrubbed: its figures stay, and its names and places go", async (name, recording) => {
    const file = join(folder, name);
    writeFileSync(file, await recording());
    const imported = await runCli(["import", file, "--json", "--quiet", "--output", join(folder, "runs")]);
    expect([imported.exitCode, imported.stderr]).toEqual([0, ""]);
    const original = String(jsonOf(imported).run_dir);
    const ended = await runCli(["scrub", original, "--out", shared, "--json", "--quiet"]);
    expect([ended.exitCode, ended.stderr]).toEqual([0, ""]);
    const { run_dir, figures, different } = jsonOf(ended);
    expect([Number(figures) > 10, different]).toEqual([true, []]);
    const tells = (texts: readonly string[]): string[] =>
      texts.filter((text) => text.includes(SECRET) || text.includes(file) || text.endsWith(`=${PID}`));
    const [before, after] = [await contents(original), await contents(String(run_dir))];
    expect(tells(before).length).toBeGreaterThan(2);
    expect(tells(after)).toEqual([]);
    const isPlace = (text: string): boolean => {
      const number = BigInt(/=(\d{1,19})$/.exec(text)?.[1] ?? 0);
      return number >= PLACE && number < PLACE + (1n << 27n);
    };
    expect(before.some(isPlace)).toBe(true);
    expect(after.filter(isPlace)).toEqual([]);
    expect((await runCli(["verify", String(run_dir)])).exitCode).toBe(0);
  });
});

describe("a run of which there is no recording is refused in one line with what to do", () => {
  const refusal = async (runDir: string): Promise<{ exitCode: number; lines: string[] }> => {
    const ended = await runCli(["scrub", runDir, "--out", shared, "--run-id", "refused", "--quiet"]);
    expect(ended.stdout).toBe("");
    expect(existsSync(join(shared, "scrubbed", "refused"))).toBe(false);
    return { exitCode: ended.exitCode, lines: ended.stderr.trimEnd().split("\n") };
  };

  test("where capture was deleted, with or without its folder, though its figures are there", async () => {
    const whole = writeHandMadeRun();
    try {
      expect((await runCli(["analyse", "--quiet", whole])).exitCode).toBe(0);
      const bare = join(folder, "bare");
      cpSync(whole, bare, { recursive: true });
      rmSync(join(bare, "capture"), { recursive: true });
      expect(await refusal(bare)).toEqual({
        exitCode: 2,
        lines: [
          expect.stringContaining(`${bare} has no capture folder, and a shared copy is made of that alone`),
          expect.stringMatching(/fix: restore capture\/ from a copy, or share its figures: mrm-trace show --json/),
        ],
      });
      expect((await runCli(["show", "--json", bare])).exitCode).toBe(0);
      mkdirSync(join(bare, "capture"));
      expect(await refusal(bare)).toEqual({
        exitCode: 4,
        lines: [expect.stringContaining("nothing that was recorded in"), expect.stringContaining("show --json")],
      });
    } finally {
      rmSync(whole, { recursive: true });
    }
  });

  test("of the Python package, as it is and as it was analysed", async () => {
    const python = join(folder, "python");
    mkdirSync(python);
    const trace = join(import.meta.dirname, "..", "..", "fixtures", "python-package", "trace.parquet");
    copyFileSync(trace, join(python, "trace.parquet"));
    const { exitCode, lines } = await refusal(python);
    expect([exitCode, lines.length]).toEqual([2, 2]);
    expect(lines.join("\n")).toContain("the labelled trace of another program, which has no capture");
    expect(lines.join("\n")).toContain(`mrm-trace analyse ${python}`);
    const analysed = await runCli(["analyse", python, "--period", "1", "--json", "--output", join(folder, "runs")]);
    expect(analysed.exitCode).toBe(0);
    const again = await refusal(String(jsonOf(analysed).run_dir));
    expect([again.exitCode, again.lines.length]).toEqual([2, 2]);
    expect(again.lines.join("\n")).toContain("holds the labelled trace of another program");
  });
});
