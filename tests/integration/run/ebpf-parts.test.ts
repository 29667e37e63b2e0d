import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import type { StreamName } from "../../../src/schema/columns.ts";
import type { LedgerPlace } from "../../../src/schema/ledger.ts";
import { openDatabase, parquetScan } from "../../../src/sql/database.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { registersFree, undisturbed } from "../../fixtures/registers-free.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

interface Said {
  readonly run_dir: string;
  readonly warnings: readonly string[];
  readonly ledger: readonly (LedgerPlace & { readonly kept: string })[];
  readonly metrics: readonly { readonly metric: string; readonly status: string; readonly why: string | null }[];
}

async function run(parts: string, command: readonly string[]): Promise<Said> {
  const args = ["run", "--json", "--quiet", "--ebpf", parts, "--output", output, ...QUICK];
  return jsonOf(await runCli([...args, "--", ...command])) as unknown as Said;
}

/** Sum over the ledger of what was kept of a stream. */
function kept({ ledger }: Said, stream: string): number {
  const rows = ledger.filter((row) => row.stream === stream && row.stage !== "segments");
  return rows.reduce((sum, row) => sum + Number(row.kept), 0);
}

describe("a part of the eBPF collector alone", () => {
  test("records its events and no others, and says why the rest is not known", async () => {
    const pages = 20_000;
    const said = await run("faults", [compileProgram("fault-storm"), "1", String(pages), "2"]);
    expect(kept(said, "fault")).toBeGreaterThanOrEqual(2 * pages);
    for (const stream of ["access", "watch", "tensor", "step"]) {
      expect([stream, existsSync(join(said.run_dir, "capture", stream))]).toEqual([stream, false]);
    }
    const intervals = said.metrics.filter(({ metric }) => metric === "iai_p50_ns");
    expect(intervals.length).toBeGreaterThan(0);
    for (const { status, why } of intervals) {
      expect([status, why]).toEqual(["not_identifiable", "--ebpf recorded mappings, faults alone"]);
    }
  });
});

describe("a run that finds debug registers held by another program", () => {
  async function runBeside(held: number): Promise<Said> {
    await registersFree();
    const script = new URL("../../fixtures/hold-registers.ts", import.meta.url).pathname;
    const holder = Bun.spawn([process.execPath, script, String(held)], { stdout: "pipe", stderr: "inherit" });
    try {
      await holder.stdout.getReader().read();
      return await run("accesses", [compileProgram("walk-array", ["-no-pie"]), "0", "0.5"]);
    } finally {
      holder.kill("SIGKILL");
      await holder.exited;
    }
  }
  const ofRegisters = ({ warnings }: Said) => warnings.filter((warning) => warning.includes("debug register"));

  test("says that nothing was watched where none is free", async () => {
    const said = await runBeside(4);
    expect(ofRegisters(said)).toEqual(["no debug register was free: nothing was watched"]);
    expect(existsSync(join(said.run_dir, "capture", "watch"))).toBe(false);
  });

  test("watches with those that are free, and says how many there were", async () => {
    const said = await runBeside(3);
    expect(ofRegisters(said)).toEqual(["at times 1 of 4 debug registers were free: less was watched"]);
    expect(existsSync(join(said.run_dir, "capture", "watch"))).toBe(true);
  });
});

describe("a word that is named", () => {
  test("is watched all the time, and nothing else is", async () => {
    const program = compileProgram("touch-word", ["-no-pie"]);
    const addr = Bun.spawnSync([program]).stdout.toString().trim();
    const count = 60_000;
    // It lasts half a second and more also while no register is on, so that a run that begins late sees most of it.
    const said = await undisturbed(() => run(`mem:${addr}/8:rw`, [program, String(count), "20000"]));
    expect(existsSync(join(said.run_dir, "capture", "fault"))).toBe(false);
    await using database = await openDatabase();
    const rowsOf = (stream: StreamName, columns: string) => {
      const paths = listSegments(said.run_dir, stream).map(({ path }) => path);
      return database.rows(`SELECT ${columns} FROM ${parquetScan(paths)}`);
    };
    const watches = await rowsOf("watch", "addr, size_bytes, inclusion_probability, n_hits, ended_by");
    for (const watch of watches) {
      expect(watch).toMatchObject({ addr: BigInt(addr), size_bytes: 8, inclusion_probability: 1 });
    }
    // One instruction touches the word, again and again; a watch ends long before its limit and goes on at once.
    const [seen] = await rowsOf("access", "count(*)::INT AS n, count(DISTINCT ip)::INT AS ips, min(address) AS addr");
    expect(seen).toMatchObject({ ips: 1, addr: BigInt(addr) });
    expect(Number(seen?.n)).toBeGreaterThan(0.6 * count);
    expect(Number(seen?.n)).toBeLessThanOrEqual(count);
    expect(watches.reduce((sum, { n_hits }) => sum + Number(n_hits), 0)).toBe(Number(seen?.n));
    expect(watches.some(({ ended_by }) => ended_by === "trap_limit")).toBe(false);
  });

  test("must be one that a register can hold", async () => {
    const refused = await runCli(["run", "--ebpf", "mem:0x404081/8:rw", "--", "true"]);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain("a multiple of its size");
  });
});
