import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { compileProgram } from "../../fixtures/compile.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { rowsOf } from "../../fixtures/perf-rows.ts";
import { jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true, force: true }));

interface Report {
  readonly collectors: readonly { readonly name: string }[];
  readonly target: { readonly pids: readonly number[]; readonly exit_code: number };
  readonly metrics: readonly {
    readonly metric: string;
    readonly scope: string;
    readonly source: string;
    readonly status: string;
    readonly why: string | null;
  }[];
  readonly observer: { readonly rss_bytes: string; readonly traps: string };
}

describe("a run with the process collector alone", () => {
  let report: Report;
  beforeAll(async () => {
    const words = ["/bin/sh", "-c", "sleep 0.4; (sleep 0.4 &) ; exit 0"];
    const ended = await runCli([
      "run",
      ...QUICK,
      "--json",
      "--collector",
      "process",
      "--output",
      output,
      "--",
      ...words,
    ]);
    expect(ended.exitCode).toBe(0);
    report = jsonOf(ended) as unknown as Report;
  });

  test("names it, and follows the processes of the target", () => {
    expect(report.collectors.map(({ name }) => name)).toEqual(["process"]);
    expect(report.target.pids.length).toBeGreaterThan(0);
    expect(report.target.exit_code).toBe(0);
    expect(Number(report.observer.rss_bytes)).toBeGreaterThan(1e6);
    expect(report.observer.traps).toBe("0");
  });

  test("tells what the processes used, and of every figure of a class of data that it cannot tell it, and why", () => {
    const ofProcess = report.metrics.filter(({ scope }) => scope === "process");
    const used = ofProcess.filter(({ source }) => source === "process");
    expect(used.length).toBeGreaterThan(5);
    // Nobody saw when they ended: what they did and held behind their last readings may be more.
    const open = used.filter(({ status }) => status !== "ok");
    expect(open.map(({ metric }) => metric)).toEqual(["rss_peak_bytes", "faults", "major_faults"]);
    expect(open.filter(({ why }) => why === null)).toEqual([]);
    const faults = ofProcess.filter(({ source }) => source !== "process");
    expect(faults.length).toBeGreaterThan(0);
    for (const row of faults) {
      expect(row).toMatchObject({ source: "fault", status: "not_identifiable", why: "no page faults were recorded" });
    }
    const others = report.metrics.filter(({ scope }) => scope !== "process");
    expect(others.length).toBeGreaterThan(10);
    for (const row of others) {
      expect(row).toMatchObject({ source: "process", status: "not_identifiable" });
      expect(row.why).toContain("/proc");
    }
  });
});

describe("a run with perf beside eBPF", () => {
  test("sees the same page faults with both, on one clock", async () => {
    const words = [compileProgram("count-faults"), "3000", "touch"];
    const own = ["--watch-registers", "0", "--perf", "page-faults", "--collector", "ebpf,perf-mem"];
    const ended = await runCli(["run", ...QUICK, "--json", ...own, "--output", output, "--", ...words]);
    expect(ended.exitCode).toBe(0);
    const report = jsonOf(ended) as unknown as Report & { readonly run_dir: string };
    expect(report.collectors.map(({ name }) => name)).toEqual(["ebpf", "perf-mem", "process"]);
    const faults = [...readStream(report.run_dir, "fault")].flatMap(rowsOf);
    const { first } = JSON.parse(ended.stderr.split("\n").find((line) => line.includes('"first"')) ?? "{}");
    const inside = faults.filter(
      ({ address }) => Number(address) >= Number(first) && Number(address) < Number(first) + 3000 * 4096,
    );
    // Each fault twice, once from each: the same thread, address and instruction within microseconds.
    expect(inside.length).toBe(6000);
    const byAddress = Map.groupBy(inside, ({ address }) => String(address));
    const apart = [...byAddress.values()].map(([one, other]) => {
      expect([one?.tid, one?.ip]).toEqual([other?.tid, other?.ip]);
      return Math.abs(Number(one?.timestamp_ns) - Number(other?.timestamp_ns));
    });
    expect(apart.sort((a, b) => a - b)[apart.length >> 1]).toBeLessThan(100_000);
  });
});

describe("a name of no collector", () => {
  test("is refused with the names there are", async () => {
    const ended = await runCli(["run", "--json", "--collector", "ebpf,perv", "--", "true"]);
    expect(ended.exitCode).toBe(2);
    expect(JSON.stringify(jsonOf(ended))).toContain("ebpf");
  });
});
