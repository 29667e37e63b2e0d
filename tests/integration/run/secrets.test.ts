/** What a run directory holds of secrets on the command line and in the environment: nothing, unless it is asked for. */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runJsonSchema } from "../../../src/schema/run-json.ts";
import { openDatabase, parquetScan } from "../../../src/sql/database.ts";
import { memrayPython } from "../../fixtures/memray-environment.ts";
import { endLeftRuns, jsonOf, QUICK, runCli, startCli } from "./cli.ts";

setDefaultTimeout(120_000);
const folder = mkdtempSync(join(tmpdir(), "mrm-secrets-"));
afterEach(endLeftRuns);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const planted = (name: string): string => `planted${name}0Zq`;
const WORDS = [
  ["--api-key", planted("A")],
  [`--token=${planted("B")}`],
  [`KEY=${planted("C")}`],
  ["-H", `Authorization: Bearer ${planted("D")}`],
  [`https://me:${planted("E")}@host/x?access_token=${planted("F")}`],
  [`hf_${planted("G")}`, `sk-${planted("H")}`],
  ["--password", planted("I")],
].flat();
const ENVIRONMENT = { HF_TOKEN: planted("J"), OPENAI_API_KEY: `sk-${planted("K")}` };
const SECRET = /planted[A-Z]0Zq/;

const filesBelow = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Files with a secret in their bytes, or in the rows that are compressed in them. */
async function filesWithSecrets(place: string): Promise<string[]> {
  await using database = await openDatabase();
  const found: string[] = [];
  for (const path of filesBelow(place)) {
    const text = readFileSync(path, "latin1");
    const rows = path.endsWith(".parquet") ? await database.rows(`SELECT * FROM ${parquetScan([path])}`) : [];
    const strings = rows.flatMap((row) => Object.values(row).filter((value) => typeof value === "string"));
    if ([text, ...strings].some((one) => SECRET.test(one))) found.push(path.slice(place.length + 1));
  }
  return found.sort();
}

const RUN = ["--json", ...QUICK, "--output", folder];
const SLEEP = ["sh", "-c", "exec sleep 0.2", "sh", ...WORDS];

async function runDirOf(args: readonly string[]): Promise<string> {
  const ended = await runCli(args, { env: ENVIRONMENT });
  expect(ended.exitCode).toBe(0);
  return runJsonSchema.parse(jsonOf(ended)).run_dir;
}

describe("secrets of a command line and of the environment", () => {
  test("are in no file of a run, and not in what it prints", async () => {
    const ended = await runCli(["run", ...RUN, "--verbose", "--", ...SLEEP], { env: ENVIRONMENT });
    expect(ended.exitCode).toBe(0);
    expect(ended.stdout + ended.stderr).not.toMatch(SECRET);
    const { run_dir, target } = runJsonSchema.parse(jsonOf(ended));
    expect(target.command).toEqual(
      [...SLEEP.slice(0, 4), "--api-key", "***", "--token=***", "KEY=***", "-H", "Authorization: ***"].concat([
        "https://me:***@host/x?access_token=***",
        "***",
        "***",
        "--password",
        "***",
      ]),
    );
    expect(await filesWithSecrets(run_dir)).toEqual([]);
  });

  test("are in its facts, its metadata and its page where the whole command line is asked for, and nothing is where none is", async () => {
    const full = await runDirOf(["run", ...RUN, "--record-command", "full", "--", ...SLEEP]);
    expect(await filesWithSecrets(full)).toEqual(["capture/facts.json", "metadata.json", "report.html"]);
    const none = await runDirOf(["run", ...RUN, "--record-command", "none", "--", ...SLEEP]);
    expect(await filesWithSecrets(none)).toEqual([]);
    const { target, repeated_by } = JSON.parse(readFileSync(join(none, "metadata.json"), "utf8"));
    expect([target.command, repeated_by]).toEqual([[], []]);
  });

  test("are in no file of a process that was attached to", async () => {
    const target = Bun.spawn(["sleep", "30"], { argv0: `sleep --token=${planted("L")}`, env: ENVIRONMENT });
    try {
      const attached = startCli(["attach", ...RUN, "--duration", "500ms", "--verbose", String(target.pid)]);
      const ended = await attached.ended;
      expect(ended.exitCode).toBe(0);
      expect(ended.stdout + ended.stderr).not.toMatch(SECRET);
      expect(await filesWithSecrets(runJsonSchema.parse(jsonOf(ended)).run_dir)).toEqual([]);
    } finally {
      target.kill("SIGKILL");
    }
  });

  test("are in no capture that memray wrote, which has the command line in its header, nor in what is imported of one", async () => {
    const program = join(folder, "allocates.py");
    writeFileSync(program, "x = [bytes(100_000) for _ in range(100)]\n");
    const command = [memrayPython("1.20.0"), program, ...WORDS];
    const memray = ["run", ...RUN, "--collector", "memray"];
    expect(await filesWithSecrets(await runDirOf([...memray, "--", ...command]))).toEqual([]);
    const full = await runDirOf([...memray, "--memray", "native", "--record-command", "full", "--", ...command]);
    const capture = join(full, "raw", "memray.bin");
    const imported = await runDirOf(["import", "--json", "--output", folder, capture]);
    expect(await filesWithSecrets(imported)).toEqual([]);
    expect(JSON.parse(readFileSync(join(imported, "metadata.json"), "utf8")).target.command).toContain("--api-key");
  });

  test("are in no file of a comparison", async () => {
    const output = join(folder, "compared");
    const arms = ["compare", "--arms", "off", "--repeats", "2", "--json", "--output", output];
    const ended = await runCli([...arms, "--", "true", ...WORDS], { env: ENVIRONMENT });
    expect([0, 4, 5]).toContain(ended.exitCode);
    expect(ended.stdout).not.toMatch(SECRET);
    expect(filesBelow(output).length).toBeGreaterThan(0);
    expect(await filesWithSecrets(output)).toEqual([]);
  });
});
