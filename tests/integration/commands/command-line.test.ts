import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { bpfObjectPath } from "../../../src/kernel/bpf-object-files.ts";
import { failureJsonSchema } from "../../../src/schema/run-json.ts";
import { JSON_SCHEMA_VERSION, PARQUET_SCHEMA_VERSION } from "../../../src/schema/versions.ts";
import { CLI, jsonOf, outputFolder, QUICK, runCli } from "../run/cli.ts";

describe("--version", () => {
  test("begins with name and version, and says build, schemas and BPF objects", async () => {
    const { stdout, stderr, exitCode } = await runCli(["--version"]);
    const [first, build] = stdout.split("\n");
    expect([first, stderr, exitCode]).toEqual([`mrm-trace ${packageJson.version}`, "", 0]);
    // A work tree was not packed, whatever commit it stands at.
    expect(build).toBe(`build dev, bun ${Bun.version}`);
    expect(stdout).toContain(`schemas: parquet ${PARQUET_SCHEMA_VERSION}, json ${JSON_SCHEMA_VERSION}\n`);
  });

  test("hashes the objects that would be loaded", async () => {
    const object = jsonOf(await runCli(["--version", "--json"]));
    const hashes = Object.entries(object.bpf_objects as Record<string, string>);
    expect(hashes.map(([name]) => name)).toContain("watch");
    for (const [name, hash] of hashes) {
      const sum = Bun.spawnSync(["sha256sum", bpfObjectPath(name)]).stdout.toString();
      expect(sum).toStartWith(hash);
    }
  });
});

describe("what the command line does not know", () => {
  const refused: [args: string[], hint: string][] = [
    [["analyze", "--json"], "did you mean analyse?"],
    [["constructor", "--json"], "one of run, "],
    [["analyse", "--jsn", "--json", "x"], "did you mean --json?"],
    [["run", "--watch-register", "0", "--json"], "did you mean --watch-registers?"],
    [["-V", "extra", "--json"], "leave it out, such as: mrm-trace -V"],
    [["--version", "extra", "--json"], "leave it out, such as: mrm-trace --version"],
    [["-h", "extra", "--json"], "leave it out, such as: mrm-trace -h"],
    [["--help", "run", "--json"], "did you mean: mrm-trace help run?"],
    [["help", "run", "extra", "--json"], "leave it out, such as: mrm-trace help run"],
    [["show", "--table=maybe", "--json", "x"], "leave the value out: --table"],
    [["compare", "--no-pin=3", "--json"], "leave the value out: --no-pin"],
    [["run", "--budget", "60%", "--json", "--", "true"], "give --budget a number from 0.01 to 50"],
    [["model", "--params", "3m", "--json"], "give --params one of 1m, 15m, 110m, 1.1b"],
  ];
  test.each(refused)("%p is refused as usage with the nearest", async (args, hint) => {
    const ended = await runCli(args);
    const { error } = failureJsonSchema.parse(jsonOf(ended));
    expect([ended.exitCode, error.code]).toEqual([2, "usage"]);
    expect(error.hint).toContain(hint);
  });
});

test("a report that is longer than a pipe holds reaches a slow reader whole, and no reader ends it well", async () => {
  const output = outputFolder();
  const demo = ["--params", "1m", "--tokens", "100", "--watch-registers", "0"];
  const made = await runCli(["run", "--json", ...QUICK, "--output", output, ...demo]);
  const { run_dir, metrics } = jsonOf(made) as { run_dir: string; metrics: unknown[] };
  const piped = (reader: string) => {
    const words = [process.execPath, CLI, "analyse", run_dir, "--json"];
    const shell = ["bash", "-c", `"$@" | { ${reader}; }; exit "\${PIPESTATUS[0]}"`, "bash", ...words];
    return Bun.spawnSync(shell, { stderr: "pipe" });
  };
  const slow = piped("sleep 4; cat");
  expect(slow.stdout.length).toBeGreaterThan(65_536);
  expect([slow.exitCode, JSON.parse(slow.stdout.toString()).metrics.length]).toEqual([0, metrics.length]);
  expect(piped("exec <&-; sleep 4").exitCode).toBe(0);
});

test("a reader of notices that leaves ends nothing", async () => {
  const path = join(import.meta.dir, "../../../src/commands/outlive-reader.ts");
  const script = `import { outliveReader } from ${JSON.stringify(path)};
    if (process.argv[1] === "outlives") outliveReader(process.stderr);
    let told = 0;
    setInterval(() => {
      process.stderr.write("a notice\\n");
      if (++told > 20) { console.log("worked to the end"); process.exit(0); }
    }, 10);`;
  const said = async (word: string): Promise<string> => {
    const words = [process.execPath, "-e", script, word];
    // The reader is gone before the first notice.
    const child = Bun.spawn(["sh", "-c", '{ "$@" 2>&1 >&3 | true; } 3>&1', "sh", ...words], { stdout: "pipe" });
    return await new Response(child.stdout).text();
  };
  expect(await said("outlives")).toBe("worked to the end\n");
  expect(await said("not")).toBe("");
});
