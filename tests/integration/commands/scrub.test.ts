/** A run that is made to be shared: nothing that was planted in the original is in it, and its figures are the same. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unknownFacts, writeFacts } from "../../../src/run-directory/facts.ts";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import { openDatabase, parquetScan, quote } from "../../../src/sql/database.ts";
import { ORIGIN, writeHandMadeRun, writeStream } from "../../unit/label/hand-made-run.ts";
import { jsonOf, runCli } from "../run/cli.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-scrub-"));
const out = join(folder, "shared");
let runDir = "";
let scrubbed = "";
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterAll(() => rmSync(runDir, { recursive: true, force: true }));

let planted = 0;
/** A word that stands in one place of the original alone. */
const secret = (): string => `planted${planted++}Zq`;
const SECRET = /planted\d+Zq/;
/** Numbers that would tell of the machine: addresses, an inode, a time, processes. */
const PLACES = [0x7f00_0000_0000n, 0x7f10_0000_0000n, 0x7f20_0000_0000n, 0x5511_2233_4455n, 0x2143_7000n];
const INODE = 987_654_321n;
const PID = 77;
const TID = 61_234;
const ids = { pid: PID, tid: TID };
const at = (ms: number): bigint => ORIGIN + BigInt(ms * 1e6);

function plantInStreams(): void {
  const call = { ...ids, timestamp_ns: at(1), kind: "mmap", prot: 1, flags: 2, size_bytes: 8192n } as const;
  writeStream(
    runDir,
    "mapping",
    [`/home/${secret()}/lib.so`, `/memfd:${secret()} (deleted)`, `[anon:${secret()}]`, `/dev/shm/${secret()}`].map(
      (path, i) => {
        const addr = (PLACES[3] ?? 0n) + BigInt(i) * 8192n;
        return { ...call, addr, result: addr, path, inode: INODE, dev: 2053 };
      },
    ),
    1,
  );
  // The heap of a program whose code lies low, and a call for much room at no address, which was refused.
  const low = { addr: PLACES[4] ?? 0n, result: PLACES[4] ?? 0n, path: "[heap]" };
  writeStream(
    runDir,
    "mapping",
    [
      { ...call, ...low },
      { ...call, addr: 0n, size_bytes: 2n ** 36n, result: -12n },
    ],
    2,
  );
  const tensor = { ...ids, timestamp_ns: at(2), kind: "tensor", evidence: "engine_probe", size_bytes: 256n } as const;
  writeStream(
    runDir,
    "tensor",
    [
      {
        ...tensor,
        ...{ addr: (PLACES[0] ?? 0n) + 1024n, name: `blk.0.${secret()}.weight`, tensor_type: secret() },
        ...{ engine: secret(), logical_id: secret(), shape: secret(), region_type: "weight" },
        ...{ buffer: PLACES[0] ?? 0n, buffer_addr: PLACES[0] ?? 0n, buffer_size_bytes: 8192n },
      },
    ],
    1,
  );
  const detail = {
    build: secret(),
    path: `/home/${secret()}/model.gguf`,
    soname: secret(),
    settings: { [secret()]: secret() },
    x: secret(),
  };
  writeStream(
    runDir,
    "step",
    [
      { ...ids, timestamp_ns: at(3), kind: "engine", engine: secret(), detail: JSON.stringify(detail) },
      {
        ...ids,
        timestamp_ns: at(4),
        end_ns: at(5),
        kind: "context",
        result: PLACES[3] ?? 0n,
        detail: `{"${secret()}":1}`,
      },
    ],
    1,
  );
  const watch = {
    timestamp_ns: at(15),
    end_ns: at(75),
    watch_id: 2,
    pid: PID,
    size_bytes: 8,
    ended_by: "dwell",
  } as const;
  const stratum = `weight/${secret()}`;
  writeStream(
    runDir,
    "watch",
    [{ ...watch, addr: PLACES[2] ?? 0n, stratum, tensor: secret(), region_type: "weight" }],
    1,
  );
  const frame = { timestamp_ns: at(6), pid: PID, stack_id: 1, kind: "python" } as const;
  writeStream(runDir, "allocation_stack", [
    { ...frame, function: secret(), file: `/home/${secret()}/app.py`, line: 7 },
  ]);
  const born = { timestamp_ns: at(6), death_ns: at(60), pid: PID, thread: 1, size_bytes: 64n, stack_id: 1 };
  writeStream(runDir, "allocation", [
    { ...born, addr: PLACES[2] ?? 0n, allocator: "malloc", thread_name: secret() },
    { ...born, addr: (PLACES[2] ?? 0n) + 64n, allocator: "calloc", birth_order: 1n },
  ]);
}

function plantInFiles(): void {
  const facts = unknownFacts("first", secret(), secret(), "target_ended");
  const { target, details, observer } = facts;
  writeFacts(runDir, {
    ...facts,
    run_id: secret(),
    reasons: [secret(), "events lost 7 %: above the limit of 5 for marginal"],
    not_measured: [secret(), "peak temperature"],
    collectors: [{ name: secret(), sources: ["watch", secret()], why_not_better: secret() }],
    sight: [{ collector: "ebpf", identifies: ["watch", "step", "region_map"], blind_to: secret() }],
    target: { ...target, command: ["sh", "-c", secret()], pid: PID, pids: [PID, TID], signal: secret(), exit_code: 0 },
    ledger: [
      {
        ...{ stream: "access", source: "watch", stage: "ring", way: secret(), pid: TID, unseen_estimate: null },
        ...{ seen: 10, kept: 9, filtered: 0, dropped: 1, dropped_by: { [secret()]: 1, [secret()]: 0 } },
      },
    ],
    observer: { ...observer, parts: [{ what: secret(), count: 1, cost_pct: 1, budgeted: false }] },
    started_ns: ORIGIN,
    started_at_utc: "2031-02-03T04:05:06.789Z",
    end_ns: at(100),
    details: {
      ...details,
      host: {
        ...{ machine_id: secret(), os: secret(), kernel: `6.18.1-${secret()}`, cpu_model: secret(), cpus: 2 },
        ...{ cpu_freq_scaling_max_mhz: 1234.5, virtualisation: secret(), transparent_hugepage: secret() },
      },
      options: {
        output: `/home/${secret()}`,
        run_id: secret(),
        source: ["auto", secret()],
        budget: 1,
        LD_PRELOAD: secret(),
      },
      experiment: {
        ...{ name: secret(), about: { note: secret() }, model: { path: secret() }, context_length: 512, batch_size: 1 },
        ...{ output_tokens: 8, prompt_tokens: 8, prompts: 1, rep_index: 0, is_warmup: false },
      },
      model: {
        ...{ name: secret(), architecture: secret(), parameters: 7, quantisation: secret() },
        ...{ bytes_by_type: { [secret()]: 1 }, file_bytes: 1, layers: 2, heads: 3, kv_heads: 4, embedding: 5 },
        ...{ feed_forward: 6, vocabulary: 7, experts: null, experts_used: null, context_tokens: 8 },
      },
      imported_from: secret(),
      thermal: { throttle_events: null, peak_temp_c: null, sensor: secret() },
      watch: { budget: { turns: null }, words: [secret()], [`key ${secret()}`]: 1 },
      [secret()]: secret(),
    },
  });
  writeFileSync(join(runDir, "prompt_outputs.json"), JSON.stringify([{ prompt: secret(), output: secret() }]));
  mkdirSync(join(runDir, "raw"));
  writeFileSync(join(runDir, "raw", "memray.bin"), secret());
  writeFileSync(join(runDir, "capture", `${secret()}.txt`), secret());
}

/** A segment with a column that no table has, and with metadata of its own. */
async function plantInColumn(): Promise<void> {
  const [segment] = listSegments(runDir, "fault");
  await using database = await openDatabase();
  const copy = join(folder, "copy.parquet");
  const metadata = `mrm_trace_schema_version: '1.0', mrm_trace_table: 'fault', note: ${quote(secret())}`;
  await database.run(
    `COPY (SELECT *, ${quote(secret())} AS ${secret()} FROM ${parquetScan([segment?.path ?? ""])}) TO ${quote(copy)} (FORMAT parquet, COMPRESSION zstd, KV_METADATA {${metadata}})`,
  );
  writeFileSync(segment?.path ?? "", readFileSync(copy));
}

beforeAll(async () => {
  runDir = writeHandMadeRun();
  const fault = { ...ids, timestamp_ns: at(7), address: PLACES[2] ?? 0n, ip: 0xffff_ffff_8123_4567n, cpu: 1 };
  writeStream(runDir, "fault", [fault]);
  plantInStreams();
  plantInFiles();
  await plantInColumn();
  expect(await runCli(["analyse", "--quiet", runDir])).toMatchObject({ exitCode: 0 });
  const ended = await runCli(["scrub", runDir, "--out", out, "--json"]);
  expect([ended.exitCode, ended.stderr]).toEqual([0, expect.stringContaining("are those of the original")]);
  const { run_dir, different } = jsonOf(ended);
  expect(different).toEqual([]);
  scrubbed = String(run_dir);
});

const filesBelow = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Every value of every row of every Parquet file below a folder, as text. */
async function values(place: string): Promise<string[]> {
  await using database = await openDatabase();
  const found: string[] = [];
  for (const path of filesBelow(place).filter((name) => name.endsWith(".parquet"))) {
    const rows = await database.rows(`SELECT * FROM ${parquetScan([path])}`);
    for (const row of rows) for (const [name, value] of Object.entries(row)) found.push(`${name}=${value}`);
  }
  return found;
}

describe("a scrubbed run", () => {
  test("has none of the secrets that were planted, neither in the bytes of its files nor in their rows", async () => {
    const bytes = (place: string): string[] => filesBelow(place).map((path) => path + readFileSync(path, "latin1"));
    const count = (texts: readonly string[]): number =>
      new Set(texts.flatMap((text) => text.match(new RegExp(SECRET, "g")) ?? [])).size;
    expect(count([...bytes(runDir), ...(await values(runDir))])).toBe(planted);
    expect([...bytes(scrubbed), ...(await values(scrubbed))].filter((text) => SECRET.test(text))).toEqual([]);
  });

  test("does not say where it or the original lies on the disk", () => {
    const places = [folder, runDir];
    const telling = filesBelow(scrubbed).filter((path) =>
      places.some((place) => readFileSync(path, "latin1").includes(place)),
    );
    expect(telling).toEqual([]);
    expect(filesBelow(scrubbed).map((path) => path.slice(scrubbed.length + 1))).toContain("report.html");
  });

  test("has no address, inode, thread or time of the original", async () => {
    const numbers = [...PLACES, INODE, BigInt(TID), ORIGIN, at(1), at(100)].map(String);
    const all = await values(runDir);
    expect(numbers.filter((number) => !all.some((value) => value.endsWith(`=${number}`)))).toEqual([String(at(100))]);
    const left = await values(scrubbed);
    expect(left.filter((value) => numbers.some((number) => value.endsWith(`=${number}`)))).toEqual([]);
    const texts = filesBelow(scrubbed).filter((path) => path.endsWith(".json") && !path.endsWith("manifest.json"));
    for (const path of texts) {
      expect(numbers.filter((number) => new RegExp(`\\b${number}\\b`).test(readFileSync(path, "utf8")))).toEqual([]);
      expect(readFileSync(path, "utf8")).not.toContain("2031-02-03");
    }
  });

  test("says what the original says, figure by figure", async () => {
    const figures = async (place: string): Promise<unknown> => {
      const { metrics, labels, loss, validity } = jsonOf(await runCli(["show", "--json", place]));
      const rows = metrics as Readonly<Record<string, unknown>>[];
      return { labels, loss, validity, rows: rows.map(({ why: _, ...row }) => row) };
    };
    expect(await figures(scrubbed)).toEqual(await figures(runDir));
  });

  test("is what its manifest says, for the user alone to read", async () => {
    expect((await runCli(["verify", scrubbed])).exitCode).toBe(0);
    for (const path of filesBelow(scrubbed)) expect([path, statSync(path).mode & 0o777]).toEqual([path, 0o600]);
  });

  test("says that it is one, and what is not in it", () => {
    const metadata = JSON.parse(readFileSync(join(scrubbed, "metadata.json"), "utf8"));
    expect(metadata.scrubbed.dropped).toEqual({
      unknown_columns: 1,
      columns: { allocation_stack: ["line", "object_offset_bytes"] },
      segments: 0,
      files: 3,
    });
    expect(metadata.warnings).toContainEqual(expect.stringContaining("scrubbed to be shared"));
    expect(metadata.validity.reasons).toEqual([
      expect.stringContaining("names more than numbers"),
      "events lost 7 %: above the limit of 5 for marginal",
    ]);
    expect(metadata.software.kernel).toBe("6.18");
    expect(metadata.timing.started_ns).toBe("1");
  });

  test("can be scrubbed again, and analysed again", async () => {
    expect((await runCli(["analyse", "--quiet", scrubbed])).exitCode).toBe(0);
    const again = await runCli(["scrub", scrubbed, "--out", out, "--run-id", "again", "--json"]);
    expect(jsonOf(again).different).toEqual([]);
  });
});

describe("scrubbing is refused", () => {
  test("without a folder for it, and of what is no run", async () => {
    const missing = await runCli(["scrub", runDir]);
    expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining("--out shared")]);
    expect((await runCli(["scrub", join(folder, "nothing"), "--out", out])).exitCode).toBe(2);
  });

  test("where a run of that name is there already", async () => {
    const ended = await runCli(["scrub", runDir, "--out", out, "--run-id", "again"]);
    expect([ended.exitCode, ended.stderr]).toEqual([2, expect.stringContaining("--force")]);
  });
});
