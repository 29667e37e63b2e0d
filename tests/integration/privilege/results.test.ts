import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { LAUNCHER } from "../../../src/runtime.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { makeSudoUser, type Said, type SudoUser, withoutSudo } from "../../fixtures/sudo-user.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const QUICK = ["--watch-registers", "0", "--baseline", "1s", "--quiet"];
if (withoutSudo !== null) process.stderr.write(`attacks on results: skipped, ${withoutSudo}\n`);

describe.skipIf(withoutSudo !== null)("what root writes for the user who called sudo (needs root and sudo)", () => {
  let user: SudoUser;
  /** A folder of root's that everybody may enter and read, with a file that only root may. */
  let vault: string;
  let before: string;
  beforeAll(() => {
    user = makeSudoUser();
    copyFileSync(compileProgram("exchange"), join(user.home, "exchange"));
    chmodSync(join(user.home, "exchange"), 0o755);
  });
  afterAll(() => user[Symbol.dispose]());
  beforeEach(() => {
    vault = mkdtempSync(join(tmpdir(), "mrm-vault-"));
    chmodSync(vault, 0o755);
    writeFileSync(join(vault, "secret"), "a secret of root\n", { mode: 0o600 });
    writeFileSync(join(vault, "open"), "for all\n", { mode: 0o644 });
    before = stateOf(vault);
  });
  afterEach(() => rmSync(vault, { recursive: true }));

  /** Owner, mode and content of everything in a folder. */
  function stateOf(folder: string): string {
    const entries = readdirSync(folder, { recursive: true }).map(String).sort();
    return ["", ...entries]
      .map((name) => {
        const { uid, gid, mode, nlink } = lstatSync(join(folder, name));
        const isFile = lstatSync(join(folder, name)).isFile();
        const hash = isFile
          ? createHash("sha256")
              .update(readFileSync(join(folder, name)))
              .digest("hex")
          : "";
        return [name, uid, gid, mode.toString(8), isFile ? nlink : "", hash].join(" ");
      })
      .join("\n");
  }

  /** Starts shell lines as the user, which run beside what follows; $V is the vault. */
  function attack(lines: string): Disposable {
    const child = user.start(["sh", "-c", lines, "sh"].map((word) => word.replaceAll("$V", vault)));
    return { [Symbol.dispose]: () => child.kill("SIGKILL") };
  }
  const trace = (words: readonly string[]): Promise<Said> => user.sudo([LAUNCHER, "run", ...QUICK, ...words]);

  /** Everything below a folder that is not the user's, which root left there. */
  function foreign(folder: string): string[] {
    const all = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
    return [folder, ...all].filter((path) => lstatSync(path).uid !== user.uid);
  }

  test("is theirs in the end, with the folders above it, and private", async () => {
    const ended = await trace(["--output", "results/new", "--run-id", "r", "--", "id", "-u"]);
    expect(ended).toMatchObject({ exitCode: 0, stdout: `${user.uid}\n` });
    const run = join(user.home, "results/new/id/r");
    expect(existsSync(join(run, "metadata.json"))).toBe(true);
    expect(foreign(join(user.home, "results"))).toEqual([]);
    expect(lstatSync(run).mode & 0o777).toBe(0o700);
    const again = await user.run([LAUNCHER, "analyse", run]);
    expect(again.exitCode).toBe(0);
  });

  test("does not follow a link in place of the output folder", async () => {
    await user.run(["ln", "-s", vault, "linked"]);
    const ended = await trace(["--output", "linked", "--run-id", "r", "--", "true"]);
    expect({ exitCode: ended.exitCode, state: stateOf(vault) }).toEqual({ exitCode: 3, state: before });
    expect(ended.stderr).toContain("the run directory linked/true/r cannot be made: permission denied");
  });

  test("goes where it began, whatever takes the place of the folder while it is recorded and given", async () => {
    // Names in the copy change between folders and links to the vault: a walk by path would leave it at some of them.
    await user.run(["mkdir", "-p", "moved/sleep"]);
    using _attack = attack(`
      while [ ! -d moved/sleep/r ]; do sleep 0.01; done
      mv moved/sleep gone
      mkdir -p moved/sleep/r/capture moved/sleep/r/trace
      ln -s "$V/open" moved/sleep/r/region_map.parquet.partial
      pairs=
      for i in $(seq 100); do
        mkdir -p moved/sleep/r/d$i; touch moved/sleep/r/d$i/secret; ln -s "$V" moved/sleep/r/l$i
        pairs="$pairs moved/sleep/r/d$i moved/sleep/r/l$i"
      done
      exec ./exchange $pairs`);
    const ended = await trace(["--output", "moved", "--run-id", "r", "--", "sleep", "1"]);
    expect(existsSync(join(user.home, "moved/sleep/r/l100"))).toBe(true);
    expect({ exitCode: ended.exitCode, state: stateOf(vault) }).toEqual({ exitCode: 0, state: before });
    const written = readdirSync(join(user.home, "gone/r"));
    expect(written).toContain("manifest.json");
    expect(foreign(join(user.home, "gone"))).toEqual([]);
    // Nothing of root's came into what the attack put there.
    expect(readdirSync(join(user.home, "moved/sleep/r/capture"))).toEqual([]);
  });

  test("is not written through a link that is planted as raw/perf.data", async () => {
    await user.run(["mkdir", "-p", "raw/true"]);
    using _attack = attack(`
      while [ ! -d raw/true/r ]; do sleep 0.01; done
      mv raw/true gone-raw
      mkdir -p raw/true/r/raw raw/true/r/capture
      ln -s "$V/open" raw/true/r/raw/perf.data`);
    const perf = ["--collector", "perf-mem", "--perf", "page-faults"];
    const ended = await trace([...perf, "--output", "raw", "--run-id", "r", "--", "true"]);
    expect({ exitCode: ended.exitCode, state: stateOf(vault) }).toEqual({ exitCode: 0, state: before });
    expect(readdirSync(join(user.home, "gone-raw/r/raw"))).toEqual(["perf.data"]);
    expect(foreign(join(user.home, "gone-raw"))).toEqual([]);
  });

  test("leaves a link that is planted as memray.bin, and what it leads to, alone", async () => {
    const folder = join(ROOT, "src/collect/memray/capture-folder.ts");
    const raw = join(user.rootOnly, "raw");
    const steps = `
      const { openCaptureFolder } = await import(${JSON.stringify(folder)});
      const made = openCaptureFolder(${JSON.stringify(raw)});
      console.log(made.file);
      const { existsSync } = await import("node:fs");
      while (!existsSync(made.file)) await Bun.sleep(5);
      console.log(JSON.stringify(made.settle()));
      made.dispose();
      console.log(existsSync(made.file));`;
    const plant = `
      while :; do for d in /tmp/mrm-trace-memray-*; do
        if [ -O "$d" ]; then
          ln -s "$V/secret" "$d/memray.bin.1"; ln -s "$V/open" "$d/memray.bin.2"; mkfifo "$d/memray.bin.3"
          mkdir "$d/memray.bin.4"; echo whole > "$d/.whole"; mv "$d/.whole" "$d/memray.bin"; exit 0
        fi
      done; sleep 0.01; done`;
    using _attack = attack(plant);
    const ended = await user.sudo([process.execPath, "-e", steps]);
    expect(stateOf(vault)).toBe(before);
    expect(ended.stderr).toBe("");
    const [, settled = "", left] = ended.stdout.split("\n");
    expect(JSON.parse(settled)).toEqual({
      paths: [join(raw, "memray.bin")],
      refused: ["memray.bin.1", "memray.bin.2", "memray.bin.3", "memray.bin.4"],
    });
    expect(left).toBe("false");
    expect(readdirSync(raw)).toEqual(["memray.bin"]);
    expect(readFileSync(join(raw, "memray.bin"), "utf8")).toBe("whole\n");
    expect(lstatSync(join(raw, "memray.bin")).mode & 0o777).toBe(0o600);
  });

  test("is nothing below a cache folder of the demo that leads elsewhere", async () => {
    await user.run(["sh", "-c", `mkdir -p evil && ln -s "${vault}" evil/mrm-trace`]);
    const cache = `MRM_TRACE_CACHE=${join(user.home, "evil/mrm-trace")}`;
    const words = [LAUNCHER, "run", ...QUICK, "--params", "1m", "--seconds", "1"];
    const ended = await user.sudo(["env", cache, ...words]);
    expect({ exitCode: ended.exitCode, state: stateOf(vault) }).toEqual({ exitCode: 3, state: before });
    expect(ended.stderr).toContain("permission denied");
  });

  test("is a model in the demo's cache that they made themselves", async () => {
    const ours = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "mrm-trace");
    const cache = join(user.home, ".cache/mrm-trace");
    mkdirSync(cache, { recursive: true });
    for (const name of existsSync(ours) ? readdirSync(ours) : []) {
      if (name.startsWith("demo-engine-")) cpSync(join(ours, name), join(cache, name), { recursive: true });
    }
    Bun.spawnSync(["chown", "-R", `${user.uid}:${user.uid}`, join(user.home, ".cache")]);
    const ended = await trace(["--params", "1m", "--seconds", "1", "--output", "demo", "--json"]);
    expect({ exitCode: ended.exitCode, stderr: ended.stderr }).toMatchObject({ exitCode: 0 });
    expect(readdirSync(join(cache, "models"))).toHaveLength(1);
    expect(foreign(join(user.home, ".cache"))).toEqual([]);
    expect(foreign(join(user.home, "demo"))).toEqual([]);
  });

  test("says nothing of a file that only root may read, where a link stands for mrm-trace.yaml", async () => {
    await user.run(["sh", "-c", `mkdir -p here && ln -s "${vault}/secret" here/mrm-trace.yaml`]);
    for (const words of [
      ["config", "show"],
      ["run", "--", "true"],
      ["validate", "mrm-trace.yaml"],
    ]) {
      const { exitCode, stdout, stderr } = await user.sudo([LAUNCHER, ...words], join(user.home, "here"));
      expect({ exitCode, said: stdout + stderr }).toEqual({
        exitCode: 2,
        said: expect.stringContaining("permission denied"),
      });
      expect(stdout + stderr).not.toContain("a secret");
    }
  });

  test("is made as the user by commands that need no root", async () => {
    await trace(["--output", "mine", "--run-id", "r", "--", "true"]);
    const run = join(user.home, "mine/true/r");
    await user.run([
      "sh",
      "-c",
      `rm -f "${run}/region_map.parquet"; ln -s "${vault}/open" "${run}/region_map.parquet.partial"`,
    ]);
    await user.sudo([LAUNCHER, "analyse", run]);
    expect(stateOf(vault)).toBe(before);
    expect(foreign(run)).toEqual([]);
    const model = await user.sudo([LAUNCHER, "model", "--params", "1m", "--out", join(vault, "model.gguf")]);
    expect({ exitCode: model.exitCode, state: stateOf(vault) }).toEqual({ exitCode: 3, state: before });
    const exported = (out: string) => user.sudo([LAUNCHER, "export", run, "--format", "csv", "--out", out]);
    const outside = await exported(join(vault, "metrics.csv"));
    expect({ exitCode: outside.exitCode, state: stateOf(vault) }).toEqual({ exitCode: 3, state: before });
    const { exitCode } = await exported("metrics.csv");
    const { uid, mode } = lstatSync(join(user.home, "metrics.csv"));
    expect([exitCode, uid, mode & 0o777]).toEqual([0, user.uid, 0o600]);
    await user.run(["ln", "-s", vault, "out"]);
    const monitor = await user.sudo([
      LAUNCHER,
      "monitor",
      "--pid",
      "1",
      "--max-samples",
      "1",
      "--output",
      "out/new.csv",
    ]);
    expect({ exitCode: monitor.exitCode, state: stateOf(vault) }).toEqual({ exitCode: 3, state: before });
  });

  test("replaces with --force what a killed tracer left, which is still root's", async () => {
    const left = join(user.home, "left/true/r");
    await user.run(["mkdir", "-p", "left/true"]);
    mkdirSync(join(left, "capture"), { recursive: true, mode: 0o700 });
    writeFileSync(join(left, "capture/old"), "", { mode: 0o600 });
    const kept = await trace(["--output", "left", "--run-id", "r", "--", "true"]);
    expect({ exitCode: kept.exitCode, old: existsSync(join(left, "capture/old")) }).toEqual({ exitCode: 2, old: true });
    const refused = await user.sudo([LAUNCHER, "analyse", left]);
    expect(refused.stderr).toContain(`fix: sudo chown -hR ${user.uid}:`);
    const ended = await trace(["--output", "left", "--run-id", "r", "--force", "--", "true"]);
    expect({ exitCode: ended.exitCode, old: existsSync(join(left, "capture/old")) }).toEqual({
      exitCode: 0,
      old: false,
    });
    expect(foreign(left)).toEqual([]);
  });
});
