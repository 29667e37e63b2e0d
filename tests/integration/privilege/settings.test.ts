import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { LAUNCHER } from "../../../src/runtime.ts";
import { FOR_USERS } from "../../../src/target/capabilities.ts";
import { makeSudoUser, type SudoUser, withoutSudo } from "../../fixtures/sudo-user.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const CLI = join(ROOT, "src/cli.ts");
if (withoutSudo !== null) process.stderr.write(`settings of a foreign folder: skipped, ${withoutSudo}\n`);

/** What the current folder of a user may hold, by the name of the attack; CODE stands for a program that leaves a mark. */
const ATTACKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a preload in bunfig.toml": { "bunfig.toml": 'preload = ["./code.cjs"]\n' },
  "paths in tsconfig.json": { "tsconfig.json": '{"compilerOptions":{"baseUrl":".","paths":{"*":["./code.cjs"]}}}' },
  "paths in jsconfig.json": { "jsconfig.json": '{"compilerOptions":{"baseUrl":".","paths":{"*":["./code.cjs"]}}}' },
};

describe.skipIf(withoutSudo !== null)("as root, in a folder of a user who called sudo (needs root and sudo)", () => {
  let user: SudoUser;
  let folder: string;
  beforeAll(() => {
    user = makeSudoUser();
  });
  afterAll(() => user[Symbol.dispose]());

  /** Fills a new folder as the user, with `code.cjs` that leaves a mark where only root can. */
  async function plant(files: Readonly<Record<string, string>>): Promise<string> {
    folder = mkdtempSync(join(user.rootOnly, "mark-"));
    const code = `require("fs").writeFileSync(${JSON.stringify(join(folder, "mark"))}, "")`;
    const place = (await user.run(["mktemp", "-d", `${user.home}/XXXXXX`])).stdout.trim();
    for (const [name, text] of Object.entries({ "code.cjs": code, ...files })) {
      const write = 'mkdir -p "$(dirname "$1")" && printf "%s" "$2" > "$1"';
      await user.run(["sh", "-c", write, "sh", join(place, name), text.replaceAll("CODE", code)]);
    }
    return place;
  }
  const misled = (): boolean => existsSync(join(folder, "mark"));

  for (const [name, files] of Object.entries(ATTACKS)) {
    test(`${name} is not run`, async () => {
      const place = await plant(files);
      const ended = await user.sudo([LAUNCHER, "--version"], place);
      expect({ exitCode: ended.exitCode, misled: misled() }).toEqual({ exitCode: 0, misled: false });
      expect(ended.stdout).toStartWith("mrm-trace ");
      // The attack is one: Bun by hand does what it says.
      await user.sudo([process.execPath, CLI, "--version"], place);
      expect(misled()).toBe(true);
    });
  }

  test("packages of the names of ours, and a package.json that names code, are not run", async () => {
    const names = ["zod", "citty", "yaml", "consola", "apache-arrow", "mrm-trace"];
    const poisoned = names.map((name) => [`node_modules/${name}/index.js`, "CODE"]);
    const place = await plant({
      ...Object.fromEntries(poisoned),
      "package.json":
        '{"name":"mrm-trace","main":"code.cjs","imports":{"#*":"./code.cjs"},"bun":{"preload":["./code.cjs"]}}',
    });
    const ended = await user.sudo([LAUNCHER, "config", "show"], place);
    expect({ exitCode: ended.exitCode, misled: misled() }).toEqual({ exitCode: 0, misled: false });
  });

  test("a preload in the home, with HOME kept by sudo, and compiled code left there, are not run", async () => {
    const place = await plant({ ".bunfig.toml": 'preload = ["./code.cjs"]\n' });
    const home = [`HOME=${place}`, `XDG_CONFIG_HOME=${place}`, `XDG_CACHE_HOME=${place}`];
    const ended = await user.sudo(["env", ...home, LAUNCHER, "config", "show"], place);
    expect({ exitCode: ended.exitCode, misled: misled() }).toEqual({ exitCode: 0, misled: false });
    // Where Bun may keep compiled code it does: whoever owns that home could change it.
    const kept = (): number =>
      readdirSync(place, { recursive: true }).filter((path) => String(path).endsWith(".pile")).length;
    expect(kept()).toBe(0);
    await user.sudo(["env", ...home, process.execPath, CLI, "doctor"], place);
    expect(kept()).toBeGreaterThan(0);
  });

  test("a shared library that the system does not have is not taken from it", async () => {
    const place = await plant({});
    const source = join(place, "attack.c");
    const mark = join(folder, "mark");
    await Bun.write(
      source,
      `#include <stdio.h>\n__attribute__((constructor)) void go(void) { fclose(fopen("${mark}", "w")); }\n`,
    );
    const library = join(place, "libmrm-absent.so.1");
    expect(Bun.spawnSync(["cc", "-shared", "-fPIC", "-o", library, source]).exitCode).toBe(0);
    const open = (from: string): string =>
      `try { (await import("${from}")).OPEN("libmrm-absent.so.1", {}); } catch { console.log("absent"); }`;
    const ours = open(join(ROOT, "src/kernel/system-library.ts")).replace("OPEN", "openSystemLibrary");
    const ended = await user.sudo([process.execPath, "-e", ours], place);
    expect({ said: ended.stdout, misled: misled() }).toEqual({ said: "absent\n", misled: false });
    await user.sudo(
      [process.execPath, "-e", open("bun:ffi").replace("OPEN", "dlopen").replace("{}", "{go:{}}")],
      place,
    );
    expect(misled()).toBe(true);
  });

  test("the command for who stays oneself keeps one's home, where caches are", async () => {
    const [, command = ""] = /(sudo setpriv .*) mrm-trace run$/.exec(FOR_USERS) ?? [];
    const said = await user.run(["sh", "-c", `${command.replace("sudo", "sudo -n")} sh -c 'id -u; printenv HOME'`]);
    expect(said).toEqual({ exitCode: 0, stderr: "", stdout: `${user.uid}\n${user.home}\n` });
  });

  test(".env files change neither our options nor the environment of the target", async () => {
    const text = "MRM_TRACE_OUTPUT=elsewhere\nMRM_TRACE_BUDGET=7\nMRM_PLANTED=1\nSUDO_UID=1\n";
    const place = await plant({ ".env": text, ".env.local": text, ".env.production": text });
    const shown = await user.sudo([LAUNCHER, "config", "show"], place);
    expect(shown.exitCode).toBe(0);
    expect(shown.stdout).not.toContain("elsewhere");
    const words = ["run", "--quiet", "--watch-registers", "0", "--baseline", "100ms", "--", "env"];
    const traced = await user.sudo([LAUNCHER, ...words], place);
    const names = traced.stdout.split("\n").map((line) => line.split("=")[0] ?? "");
    expect(names).toContain("SUDO_USER");
    expect(names.filter((name) => /PLANTED|^BUN_|^MRM_/.test(name))).toEqual([]);
    expect(existsSync(join(place, "elsewhere"))).toBe(false);
  });

  test("Bun by hand is refused where it took settings, with the launcher to use", async () => {
    const place = await plant({ ".env": "A=1\n" });
    const ended = await user.sudo([process.execPath, CLI, "--version"], place);
    expect(ended.exitCode).toBe(3);
    expect(ended.stderr).toContain(`root was about to take settings of Bun from ${join(place, ".env")}`);
    expect(ended.stderr).toContain(LAUNCHER);
    const own = await user.run([process.execPath, CLI, "--version"], place);
    expect(own.exitCode).toBe(0);
  });
});

describe("the launcher", () => {
  test("finds its package through links, from any folder, and passes every word on", async () => {
    const place = mkdtempSync(join("/tmp", "mrm launcher "));
    try {
      mkdirSync(join(place, "bin"));
      symlinkSync(LAUNCHER, join(place, "bin/one"));
      symlinkSync("one", join(place, "bin/two"));
      const ended = Bun.spawnSync([join(place, "bin/two"), "model", "--no-such option"], { cwd: place });
      expect(ended.exitCode).toBe(2);
      expect(ended.stderr.toString()).toContain("unknown option --no-such option");
      const version = Bun.spawnSync(["bin/two", "--version"], { cwd: place });
      expect(version.stdout.toString()).toStartWith("mrm-trace ");
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  test("says what is missing where there is no Bun", () => {
    const place = mkdtempSync(join("/tmp", "mrm-no-bun-"));
    try {
      cpSync(join(ROOT, "bin"), join(place, "bin"), { recursive: true });
      const ended = Bun.spawnSync([join(place, "bin/mrm-trace"), "--version"], { env: { PATH: "/usr/bin:/bin" } });
      expect({ exitCode: ended.exitCode, said: ended.stderr.toString() }).toEqual({
        exitCode: 3,
        said: expect.stringContaining("bun is not on PATH"),
      });
    } finally {
      rmSync(place, { recursive: true });
    }
  });
});
