import { describe, expect, test } from "bun:test";
import packageJson from "../../../package.json" with { type: "json" };
import { bpfObjectPath } from "../../../src/kernel/bpf-object-files.ts";
import { failureJsonSchema } from "../../../src/schema/run-json.ts";
import { jsonOf, runCli } from "../run/cli.ts";

describe("--version", () => {
  test("begins with name and version, and says build, schemas and BPF objects", async () => {
    const { stdout, stderr, exitCode } = await runCli(["--version"]);
    const [first, build] = stdout.split("\n");
    expect([first, stderr, exitCode]).toEqual([`mrm-trace ${packageJson.version}`, "", 0]);
    // A work tree was not packed, whatever commit it stands at.
    expect(build).toBe(`build dev, bun ${Bun.version}`);
    expect(stdout).toContain("schemas: parquet 1.0, json 1.0");
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
  ];
  test.each(refused)("%p is refused as usage with the nearest", async (args, hint) => {
    const ended = await runCli(args);
    const { error } = failureJsonSchema.parse(jsonOf(ended));
    expect([ended.exitCode, error.code]).toEqual([2, "usage"]);
    expect(error.hint).toContain(hint);
  });
});
