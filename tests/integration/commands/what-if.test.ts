import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { whatIfSchema } from "../../../src/schema/what-if.ts";
import { DEVICE_YAML } from "../../fixtures/asked-of-memory.ts";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { jsonOf, runCli } from "../run/cli.ts";

let runDir = "";
beforeAll(async () => {
  runDir = writeHandMadeRun();
  expect((await runCli(["analyse", "--quiet", runDir])).exitCode).toBe(0);
});
afterAll(() => rmSync(runDir, { recursive: true }));

describe("what-if of a finished run", () => {
  test("answers for each device in the order given, files and presets alike, and derives nothing", async () => {
    const file = join(runDir, "device.yaml");
    writeFileSync(file, DEVICE_YAML);
    const answer = whatIfSchema.parse(
      jsonOf(await runCli(["what-if", runDir, "--json", "--device", file, "--device=nand"])),
    );
    expect(answer.devices.map(({ name }) => name)).toEqual(["four seconds", "NAND flash, a server's NVMe drive"]);
    const classes = answer.devices[0]?.classes.map((one) => one.class) ?? [];
    expect(classes).toEqual(expect.arrayContaining(["weight", "kv_cache", "together"]));
    expect(answer.placement.map(({ name }) => name)).toEqual(classes.slice(0, -1));
    // So few accesses are no figure, and the answer says so in the run's own words.
    const [weight] = answer.devices[0]?.classes ?? [];
    const energy = weight?.figures.find(({ figure }) => figure === "energy_per_token_j");
    expect([energy?.value, energy?.status]).toEqual([null, "not_identifiable"]);
    expect(energy?.why).toMatch(/\S/);
    expect(weight?.fits).toBe("yes");
  });

  test("prints a table, and refuses a folder that is no finished run", async () => {
    const { exitCode, stdout, stderr } = await runCli(["what-if", runDir, "--device", "dram"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("DDR4-3200 DIMM");
    expect(stdout).toContain("not known");
    const bare = await runCli(["what-if", join(runDir, "capture"), "--device", "dram"]);
    expect([bare.exitCode, bare.stderr]).toEqual([2, expect.stringContaining("is no run")]);
  });
});
