/** Containers: what is traced from inside of one, and of one from outside, is what it would be without. */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { demoCacheDir } from "../../../src/demo/cache.ts";
import { demoCommand } from "../../../src/demo/demo.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { prepareDemo } from "../../../src/demo/prepare.ts";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import type { StreamName } from "../../../src/schema/columns.ts";
import { openDatabase, parquetScan } from "../../../src/sql/database.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { inContainer, OWN_PIDS } from "../../fixtures/container.ts";
import { memrayPython } from "../../fixtures/memray-environment.ts";
import { undisturbed } from "../../fixtures/registers-free.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

interface Report {
  readonly run_dir: string;
  readonly warnings: readonly string[];
  readonly target: { readonly pid: number; readonly pids: readonly number[]; readonly decode_tokens: number };
  readonly ledger: readonly { readonly dropped: string }[];
}

type Row = Readonly<Record<string, unknown>>;

/** Rows of a stream of a run. */
async function rowsOf({ run_dir }: Report, stream: StreamName, sql: (scan: string) => string): Promise<Row[]> {
  await using database = await openDatabase();
  return await database.rows(sql(parquetScan(listSegments(run_dir, stream).map(({ path }) => path))));
}

/** Runs a command with `prefix` before the tracer. */
async function traced(args: readonly string[], command: readonly string[], prefix: readonly string[]) {
  const words = ["run", "--json", "--quiet", ...QUICK, "--output", output, ...args, "--", ...command];
  const ended = await runCli(words, { prefix });
  if (ended.exitCode !== 0) throw new Error(`it ended with ${ended.exitCode}: ${ended.stderr}\n${ended.stdout}`);
  return { report: jsonOf(ended) as unknown as Report, said: ended.stderr };
}

const file = join(output, "mapped-by-all");
writeFileSync(file, "x".repeat(4096));

/** Threads and processes that say who they are, and write once to every page of an area each. */
async function tracedTree(prefix: readonly string[], before: readonly string[] = []) {
  const command = [...before, "sh", "-c", 'echo | "$0" "$1"; true', compileProgram("live-tree"), file];
  const { report, said } = await traced(["--ebpf", "faults"], command, prefix);
  const areas = [...said.matchAll(/^(\d+) (\d+) (\d+) (\d+)$/gm)].map((match) => {
    const [pid, tid, addr, pages] = match.slice(1).map(Number);
    return { pid, tid, addr: Number(addr), pages };
  });
  const seen = [];
  for (const { addr, pages } of areas) {
    const inside = `address >= ${addr} AND address < ${addr + Number(pages) * 4096}`;
    const columns = "pid::INT AS pid, tid::INT AS tid, count(DISTINCT address >> 12)::INT AS pages";
    const rows = await rowsOf(
      report,
      "fault",
      (scan) => `SELECT ${columns} FROM ${scan} WHERE ${inside} GROUP BY pid, tid`,
    );
    seen.push(...rows.map((row) => ({ ...row, addr })));
  }
  // What the program did; how often the tracer looks at its maps depends on when it comes to it.
  const kinds = await rowsOf(
    report,
    "mapping",
    (scan) =>
      `SELECT kind, count(*)::INT AS n, count(DISTINCT pid)::INT AS processes FROM ${scan} WHERE kind NOT LIKE 'snapshot%' GROUP BY kind ORDER BY kind`,
  );
  const pids = await rowsOf(
    report,
    "mapping",
    (scan) =>
      `SELECT DISTINCT pid::INT AS pid FROM ${scan} UNION SELECT child_pid::INT FROM ${scan} WHERE kind = 'fork'`,
  );
  return { areas, seen, kinds, report, pids: new Set(pids.map(({ pid }) => Number(pid))) };
}

const byArea = (rows: readonly { readonly addr: number }[]) => [...rows].sort((a, b) => a.addr - b.addr);

describe("a tracer inside a container", () => {
  test("calls processes and threads by the numbers that they have there", async () => {
    const outside = await tracedTree([]);
    const inside = await tracedTree(inContainer());
    for (const { areas, seen, pids, report } of [outside, inside]) {
      expect(areas.length).toBe(6);
      // What each thread said of itself is what its faults say.
      expect(byArea(seen as typeof areas)).toEqual(byArea(areas));
      for (const { pid } of areas) expect(pids).toContain(Number(pid));
      expect(new Set(report.target.pids)).toEqual(pids);
      expect(report.ledger.filter(({ dropped }) => dropped !== "0")).toEqual([]);
    }
    // The numbers of a container begin anew.
    expect(Math.max(...inside.pids)).toBeLessThan(1000);
    expect(inside.kinds).toEqual(outside.kinds);
    expect(inside.kinds.map(({ kind }) => String(kind))).toEqual(
      expect.arrayContaining(["exec", "exit", "file", "fork", "mmap", "munmap"]),
    );
  });

  test("follows a target into a container of its own, by the numbers of the outer one", async () => {
    const { areas, seen, pids } = await tracedTree(inContainer(), OWN_PIDS);
    expect(seen.map(({ addr }) => addr)).toEqual(areas.map(({ addr }) => addr));
    const numbers = new Map<unknown, unknown>();
    for (const [i, { pid, pages }] of areas.entries()) {
      expect(seen[i]).toMatchObject({ pages });
      const shown = (seen[i] as Row | undefined)?.pid;
      expect(pids).toContain(Number(shown));
      expect(shown).not.toBe(pid);
      // A process has one number here, whichever of its threads is asked.
      expect(numbers.get(pid) ?? shown).toBe(shown);
      numbers.set(pid, shown);
    }
    expect(new Set(numbers.values()).size).toBe(3);
  });

  test("watches a word that is named as it would outside", async () => {
    const program = compileProgram("touch-word", ["-no-pie"]);
    const addr = Bun.spawnSync([program]).stdout.toString().trim();
    const count = 20_000;
    const { report } = await undisturbed(async () => {
      const run = await traced(["--ebpf", `mem:${addr}/8:rw`], [program, String(count), "50000"], inContainer());
      return { ...run, warnings: run.report.warnings };
    });
    const [seen] = await rowsOf(
      report,
      "access",
      (scan) =>
        `SELECT count(*)::INT AS n, count(DISTINCT ip)::INT AS ips, min(address) AS addr, min(pid)::INT AS pid, max(pid)::INT AS last_pid FROM ${scan}`,
    );
    expect(seen).toMatchObject({ ips: 1, addr: BigInt(addr), pid: report.target.pid, last_pid: report.target.pid });
    expect(Number(seen?.n)).toBeGreaterThan(count / 4);
    expect(Number(seen?.n)).toBeLessThanOrEqual(count);
  });

  test("attaches to a process that runs there, and draws watches in it", async () => {
    const program = compileProgram("walk-array", ["-no-pie"]);
    const beside = ["sh", "-c", '"$0" 0 30 >/dev/null & "$@" $!; code=$?; kill $!; exit $code', program];
    const args = ["attach", "--json", "--quiet", ...QUICK, "--output", output, "--duration", "2s"];
    const report = await undisturbed(async () => {
      const ended = await runCli(args, { prefix: [...inContainer(), ...beside] });
      expect([ended.exitCode, ended.stderr]).toEqual([0, ""]);
      return jsonOf(ended) as unknown as Report;
    });
    const [seen] = await rowsOf(
      report,
      "access",
      (scan) => `SELECT count(*)::INT AS n, min(pid)::INT AS pid, max(pid)::INT AS last_pid FROM ${scan}`,
    );
    expect(Number(seen?.n)).toBeGreaterThan(50);
    expect(seen).toMatchObject({ pid: report.target.pid, last_pid: report.target.pid });
    expect(report.target.pid).toBeLessThan(1000);
  });

  test.each([
    ["a timer", ["--source", "clock", "--clock-hz", "1000"], "access"],
    ["perf", ["--collector", "perf-mem", "--perf", "page-faults"], "fault"],
  ] as const)("samples by %s under the numbers of the container", async (_, args, stream) => {
    const program = compileProgram("walk-array", ["-no-pie"]);
    const { report } = await traced(args, [program, "0", "1"], inContainer());
    const rows = await rowsOf(report, stream, (scan) => `SELECT DISTINCT pid::INT AS pid FROM ${scan}`);
    expect(rows).toEqual([{ pid: report.target.pid }]);
    expect(report.target.pid).toBeLessThan(1000);
  });

  test("reads the captures that memray names by processes there", async () => {
    const script = join(output, "fork.py");
    writeFileSync(
      script,
      "import os\nkept=[bytearray(100000+i) for i in range(500)]\npid=os.fork()\nif pid == 0:\n more=[bytearray(1<<20) for i in range(50)]\n os._exit(0)\nos.waitpid(pid, 0)\n",
    );
    const command = [memrayPython("1.20.0"), script];
    const byProcess = async (prefix: readonly string[]) => {
      const { report } = await traced(["--collector", "memray", "--memray", "follow-fork"], command, prefix);
      const large = (scan: string) =>
        `SELECT pid::INT AS pid, count(*)::INT AS n FROM ${scan} WHERE size_bytes >= 100000 GROUP BY pid ORDER BY pid`;
      return { pid: report.target.pid, rows: await rowsOf(report, "allocation", large) };
    };
    const [inside, outside] = [await byProcess(inContainer()), await byProcess([])];
    expect(inside.rows.map(({ n }) => n)).toEqual(outside.rows.map(({ n }) => n));
    expect(inside.rows.length).toBe(2);
    expect(inside.rows[0]?.pid).toBe(inside.pid);
    expect(Number(inside.rows[1]?.pid)).toBeLessThan(1000);
  });

  test("mounts tracefs where the container has none", async () => {
    const hidden = ["sh", "-c", 'umount -l /sys/kernel/tracing && exec "$@"', "sh"];
    const { report } = await traced(["--ebpf", "faults"], ["true"], [...inContainer(), ...hidden]);
    const [seen] = await rowsOf(
      report,
      "mapping",
      (scan) => `SELECT count(*)::INT AS n FROM ${scan} WHERE kind = 'mmap'`,
    );
    expect(Number(seen?.n)).toBeGreaterThan(3);
  });

  test("names the tensors of an engine and counts its steps", async () => {
    const demo = ["--params", "1m", "--tokens", "40", "--seed", "3", "--ebpf", "engine"];
    const figures = async (prefix: readonly string[]) => {
      const words = ["run", "--json", "--quiet", ...QUICK, "--output", output, ...demo];
      const report = jsonOf(await runCli(words, { prefix })) as unknown as Report;
      const tensors = await rowsOf(
        report,
        "tensor",
        (scan) =>
          `SELECT count(*)::INT AS n, count(DISTINCT name)::INT AS names FROM ${scan} WHERE region_type = 'weight'`,
      );
      const steps = await rowsOf(
        report,
        "step",
        // Graphs are read while the process goes on, and libraries that it only tries are found while they are there: how many
        // of both is a matter of luck.
        (scan) =>
          `SELECT count(*) FILTER (kind NOT IN ('graph', 'engine', 'probes'))::INT AS n, min(pid)::INT AS pid, max(pid)::INT AS last_pid FROM ${scan}`,
      );
      return {
        tensors,
        steps: steps.map(({ n }) => n),
        pids: steps.map(({ pid, last_pid }) => [pid, last_pid]),
        report,
      };
    };
    const inside = await figures(inContainer());
    const outside = await figures([]);
    expect(inside.tensors).toEqual(outside.tensors);
    expect(Number(inside.tensors[0]?.names)).toBeGreaterThan(10);
    expect(inside.steps).toEqual(outside.steps);
    expect(Number(inside.steps[0])).toBeGreaterThan(40);
    expect(inside.report.target.decode_tokens).toBe(40);
    expect(inside.report.target.pids).toContain(Number(inside.pids[0]?.[0]));
  });

  test("finds the machine as ready as outside", async () => {
    const statuses = async (prefix: readonly string[]) => {
      const { checks } = jsonOf(await runCli(["doctor", "--json", "--output", output], { prefix })) as unknown as {
        checks: readonly { readonly name: string; readonly status: string; readonly summary: string }[];
      };
      return checks;
    };
    const inside = await statuses(inContainer());
    const outside = await statuses([]);
    const brief = (checks: typeof inside) => checks.map(({ name, status }) => `${status} ${name}`);
    expect(brief(inside)).toEqual(brief(outside));
    expect(inside.find(({ name }) => name === "namespaces")?.summary).toContain("pids of a container");
  });
});

describe("an engine in a container", () => {
  /** Its files are those of an overlay, which have another device by their mappings than by their names. */
  const OVERLAY = `
set -e
engine=$1; room=$2; shift 2
mount -t tmpfs none "$room"
mkdir "$room/upper" "$room/work"
mount -t overlay overlay -o "lowerdir=$engine,upperdir=$room/upper,workdir=$room/work" "$engine"
exec "$@"`;
  /** Each of its files is a copy, under the name that another has outside. */
  const COPY = `
set -e
engine=$1; room=$2; shift 2
mount -t tmpfs none "$room"
cp -a "$engine/." "$room/"
mount --bind "$room" "$engine"
exec "$@"`;

  test.each([
    ["files of an overlay", OVERLAY],
    ["copies of the files of the host", COPY],
  ])("is found by the %s, from outside", async (_, enter) => {
    const model = join(mkdtempSync(join(output, "model-")), "model.gguf");
    await writeModel({ params: "1m", type: "q8_0", seed: 1 }, model);
    const { engineDir } = await prepareDemo({ cacheDir: demoCacheDir(), spec: null }, {});
    const demo = await demoCommand({ cacheDir: demoCacheDir(), model, threads: 1, tokens: 40 });
    const room = mkdtempSync(join(output, "room-"));
    const set = Object.entries(demo.env).map(([name, value]) => `${name}=${value}`);
    const command = [...OWN_PIDS, "sh", "-c", enter, "sh", engineDir, room, "env", ...set, ...demo.command];
    const { report } = await traced(["--ebpf", "engine"], command, []);
    const named = (scan: string) =>
      `SELECT count(DISTINCT name)::INT AS names FROM ${scan} WHERE region_type = 'weight'`;
    const [tensors] = await rowsOf(report, "tensor", named);
    expect(Number(tensors?.names)).toBeGreaterThan(10);
    expect(report.target.decode_tokens).toBe(40);
  });
});

describe("nothing is recorded", () => {
  const nothing = outputFolder();
  afterAll(() => rmSync(nothing, { recursive: true }));

  test("from a /proc of other numbers", async () => {
    const args = ["run", ...QUICK, "--output", nothing, "--collector", "process", "--", "sleep", "2"];
    const ended = await runCli(args, { prefix: ["unshare", "--pid", "--fork"] });
    expect(ended.stderr).toContain("/proc is that of another pid namespace");
    expect(ended.exitCode).toBe(3);
    expect(readdirSync(nothing)).toEqual([]);
  });

  test("of the memory of another process, by monitor, under the number that was asked for", async () => {
    const prefix = ["unshare", "--pid", "--fork"];
    const ended = await runCli(["monitor", "--pid", "1", "--max-samples", "2"], { prefix });
    expect(ended.stderr).toContain("/proc is that of another pid namespace");
    expect(ended.stderr).toContain("fix: mount -t proc proc /proc");
    expect([ended.exitCode, ended.stdout]).toEqual([3, ""]);
  });

  test("by root of a user namespace, who is told so as doctor does", async () => {
    const prefix = ["unshare", "--user", "--map-root-user", ...OWN_PIDS.slice(1)];
    const ended = await runCli(["run", ...QUICK, "--output", nothing, "--", "sleep", "2"], { prefix });
    const reason = "root of a user namespace only";
    expect(ended.stderr).toContain(reason);
    expect(ended.exitCode).toBe(3);
    expect(readdirSync(nothing)).toEqual([]);
    expect((await runCli(["doctor"], { prefix })).stdout).toContain(reason);
  });
});

test("a target in a pid namespace is traced from outside, under the number that the host gives it", async () => {
  const PAGES = 5000;
  const { report } = await traced(
    ["--ebpf", "faults"],
    [...OWN_PIDS, compileProgram("count-faults"), String(PAGES)],
    [],
  );
  const [seen] = await rowsOf(
    report,
    "fault",
    (scan) => `SELECT count(*)::INT AS n, min(pid)::INT AS pid FROM ${scan}`,
  );
  expect(Number(seen?.n)).toBeGreaterThan(PAGES);
  // In its own namespace it is the first process.
  expect(Number(seen?.pid)).toBeGreaterThan(1);
});
