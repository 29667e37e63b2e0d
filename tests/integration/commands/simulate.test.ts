import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { simulationSchema } from "../../../src/schema/simulation.ts";
import { jsonOf, runCli } from "../run/cli.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-simulate-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "world.yaml");
writeFileSync(
  file,
  "name: a table read every 20 ms\nrun: 8s\nstrata:\n  - { name: table, class: weight, bytes: 64MiB, period: 20ms }\n",
);

describe("simulate", () => {
  test("says of a described work what is true of it, and what its runs tell, by its seeds alone", async () => {
    const runs = ["simulate", file, "--seeds", "3", "--first-seed", "21", "--json"];
    const [once, again] = [await runCli(runs), await runCli(runs)];
    expect([once.exitCode, again.stdout]).toEqual([0, once.stdout]);
    const { figures, ...rest } = simulationSchema.parse(jsonOf(once));
    expect(rest).toMatchObject({
      world: "a table read every 20 ms",
      seeds: 3,
      first_seed: 21,
      run_s: 8,
      budget_pct: 1,
    });
    expect(figures.every(({ ok, bound, refused }) => ok + bound + refused === 3)).toBe(true);
    const read = figures.find(({ metric }) => metric === "read_bytes_per_s");
    expect(read?.truth?.lo).toBeCloseTo((64 * 2 ** 20) / 0.02, -6);
    expect([read?.region_type, read?.ok]).toEqual(["weight", 3]);
    // Chance moves each run by some percent.
    expect(Math.abs((read?.value ?? 0) / (read?.truth?.lo ?? 1) - 1)).toBeLessThan(0.1);
    expect(figures.find(({ metric }) => metric === "retention_p50_ns")?.refused).toBe(3);
  });

  test("prints a table with the truth beside, the reasons of what is not told, and how many figures would be had", async () => {
    const { exitCode, stdout } = await runCli(["simulate", file, "--seeds", "1"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/read_bytes_per_s +3\.12 GiB\/s +3\.\d\d GiB\/s \[/);
    expect(stdout).toMatch(/\(\d\) no write seen in the run/);
    expect(stdout).toMatch(/\d+ of \d+ figures would be had/);
  });
});
