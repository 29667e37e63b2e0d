import { expect, test } from "bun:test";
import { sourceFacts } from "../../../src/collect/ebpf/ebpf.ts";
import { sampleChoices } from "../../../src/collect/ebpf/samples/choose-sources.ts";
import type { LedgerPlace } from "../../../src/schema/ledger.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { QUICK, runCli } from "./cli.ts";

const usable = sampleChoices(sourceFacts()).find(({ ok }) => ok);
if (usable) process.stderr.write(`skipped: refusals of --source, for this machine has ${usable.source}\n`);

for (const asked of ["pebs", "ibs", "pebs,watch"]) {
  test.skipIf(usable !== undefined)(
    `--source ${asked} ends with 3, the reason and a fix, where no PMU samples`,
    async () => {
      const { exitCode, stdout } = await runCli(["run", "--source", asked, "--json", "--", "/bin/true"]);
      expect(exitCode).toBe(3);
      const said = JSON.parse(stdout) as { error: { message: string; hint: string } };
      expect(said).toMatchObject({ run_dir: null, error: { code: "environment", exit_code: 3 } });
      const { message, hint } = said.error;
      expect(message).toStartWith(`--source ${asked.split(",")[0]}: no `);
      expect(hint).toContain("--source watch");
    },
  );
}

test("--source clock alone tells in its report what the timer saw and cost, and what it cannot tell", async () => {
  const walk = [compileProgram("walk-array", ["-no-pie"]), "0", "1.5"];
  const flags = ["--source", "clock", "--clock-hz", "1000", "--budget", "10", ...QUICK, "--json"];
  const { exitCode, stdout } = await runCli(["run", ...flags, "--", ...walk]);
  expect(exitCode).toBe(0);
  const report = JSON.parse(stdout) as {
    run_dir: string;
    collectors: { name: string; sources: string[] }[];
    ledger: (LedgerPlace & { kept: string })[];
    metrics: { metric: string; source: string; status: string; lo: number | null; why: string | null }[];
  };
  expect(report.collectors[0]).toMatchObject({ name: "ebpf", sources: ["clock"] });
  const kept = Number(rowsAt(report.ledger, { source: "clock", stage: "decode" })[0]?.kept);
  expect(kept).toBeGreaterThan(30);
  const metadata = (await Bun.file(`${report.run_dir}/metadata.json`).json()) as Record<string, unknown>;
  const [clock] = JSON.stringify(metadata).match(/"hz":\{"wanted":1000,"taken":[0-9.]+\}/) ?? [];
  expect(clock).toBeDefined();
  const writes = report.metrics.filter(({ metric, source }) => metric === "reads_per_write" && source === "clock");
  expect(writes.length).toBeGreaterThan(0);
  expect(writes.every(({ why }) => why === "stores hide behind stalled loads at a timer's ip")).toBe(true);
  const working = report.metrics.filter(({ metric, source }) => metric === "working_set_bytes" && source === "clock");
  expect(working.some(({ status, lo }) => (status === "ok" || status === "bound") && Number(lo) > 0)).toBe(true);
});
