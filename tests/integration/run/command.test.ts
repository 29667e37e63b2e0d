import { afterEach, expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { checkManifest } from "../../../src/run-directory/check-manifest.ts";
import { placeWords } from "../../../src/schema/ledger.ts";
import { runJsonSchema } from "../../../src/schema/run-json.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

afterEach(endLeftRuns);

test("any command is traced: one JSON object, files that are sealed, a ledger that balances", async () => {
  const output = outputFolder();
  const ended = await runCli([
    "run",
    "--json",
    ...QUICK,
    "--output",
    output,
    "--",
    compileProgram("count-faults"),
    "5000",
  ]);
  expect(ended.stderr).toContain('"minor"');
  expect(ended.exitCode).toBe(0);
  const report = runJsonSchema.parse(jsonOf(ended));
  const runDir = report.run_dir;
  expect(report.target.exit_code).toBe(0);
  for (const row of report.ledger) {
    expect([placeWords(row), BigInt(row.seen)]).toEqual([
      placeWords(row),
      BigInt(row.kept) + BigInt(row.filtered) + BigInt(row.dropped),
    ]);
  }
  expect(report.labels.every((label) => label.region_type === "unknown" && label.mapping_kind !== null)).toBe(true);
  let faults = 0;
  for (const batch of readStream(runDir, "fault")) faults += batch.rows;
  expect(faults).toBeGreaterThanOrEqual(10_000);
  expect(await checkManifest(runDir)).toMatchObject({ missing: [], changed: [], unlisted: [] });
  for (const file of readdirSync(runDir, { recursive: true, withFileTypes: true })) {
    const mode = statSync(join(file.parentPath, file.name)).mode & 0o777;
    expect([file.name, mode]).toEqual([file.name, file.isDirectory() ? 0o700 : 0o600]);
  }
});

test("analyse derives the same figures again, without root, from the capture alone", async () => {
  const output = outputFolder();
  const first = jsonOf(
    await runCli(["run", "--json", ...QUICK, "--output", output, "--", "sh", "-c", "seq 1 20000 | sort >/dev/null"]),
  );
  const runDir = String(first.run_dir);
  Bun.spawnSync(["chown", "-R", "nobody", output]);
  Bun.spawnSync(["chmod", "o+x", output]);
  const prefix = ["setpriv", "--reuid=nobody", "--clear-groups", "--"];
  const again = await runCli(["analyse", "--json", "--quiet", runDir], { prefix, env: { HOME: "/nonexistent" } });
  expect(again.stderr).toBe("");
  const second = jsonOf(again);
  expect(second.metrics).toEqual(first.metrics);
  expect(second.labels).toEqual(first.labels);
  expect(await checkManifest(runDir)).toMatchObject({ missing: [], changed: [], unlisted: [] });
});

test("two runs at once do not disturb each other", async () => {
  const output = outputFolder();
  const args = ["run", "--json", ...QUICK, "--output", output, "--", "sh", "-c", "sleep 0.5; seq 1 1000 >/dev/null"];
  const [a, b] = await Promise.all([runCli(args), runCli(args)]);
  expect([a?.exitCode, b?.exitCode]).toEqual([0, 0]);
  const dirs = [a, b].map((ended) => String(ended && jsonOf(ended).run_dir));
  expect(new Set(dirs).size).toBe(2);
  for (const dir of dirs) expect(existsSync(join(dir, "metrics.parquet"))).toBe(true);
});

test("under sudo the command runs with the privileges of the user who called it", async () => {
  const env = { SUDO_UID: "65534", SUDO_GID: "65534", SUDO_USER: "nobody" };
  const ended = await runCli(["run", "--quiet", ...QUICK, "--output", outputFolder(), "--", "id", "-u"], { env });
  expect(ended.stdout).toBe("65534\n");
  expect(ended.exitCode).toBe(0);
});

test("under sudo the results belong to the user who called it, who analyses them without root", async () => {
  const home = outputFolder();
  chmodSync(home, 0o755);
  const [uid, gid] = [65534, 65534];
  const env = { SUDO_UID: String(uid), SUDO_GID: String(gid), SUDO_USER: "nobody" };
  const output = join(home, "results", "runs");
  const ended = await runCli(["run", "--json", ...QUICK, "--output", output, "--", "true"], { env });
  expect(ended.exitCode).toBe(0);
  const runDir = String(jsonOf(ended).run_dir);
  const made = readdirSync(home, { recursive: true }).map((name) => lstatSync(join(home, String(name))));
  expect(made.length).toBeGreaterThan(10);
  expect(made.filter((one) => one.uid !== uid || one.gid !== gid)).toEqual([]);
  expect(lstatSync(home).uid).toBe(0);
  const nobody = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"];
  const analysed = await runCli(["analyse", "--json", "--quiet", runDir], { prefix: nobody, env: { HOME: home } });
  expect(analysed.stderr).toBe("");
  expect(analysed.exitCode).toBe(0);
});
