import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MrmTraceError } from "../../../src/errors.ts";
import { monotonicNs } from "../../../src/kernel/libc.ts";
import { findProgram, launchHeld } from "../../../src/target/held-command.ts";
import { isRunning, waitUntil } from "../../fixtures/wait-until.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-command-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string, mode: number): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const COMMAND = new URL("../../../src/target/held-command.ts", import.meta.url).pathname;

describe("the program of a command", () => {
  test("is found in PATH, or where the name says", () => {
    expect(findProgram("sh")).toEndWith("/sh");
    expect(findProgram("/bin/sh")).toBe("/bin/sh");
    const script = file("script", "#!/bin/sh\n", 0o755);
    expect(findProgram(script)).toBe(script);
  });

  test("is refused where it is absent, a folder, or nobody may execute it, each with its fix", () => {
    mkdirSync(join(folder, "sub"), { recursive: true });
    const plain = file("plain", "", 0o644);
    const cases = [
      ["no-such-command-here", "command not found", "check the spelling"],
      [join(folder, "absent"), "command not found", "check the spelling"],
      [join(folder, "sub"), "is a folder", "name the program in it"],
      ["", "command not found", "check the spelling"],
      [plain, "not executable", `chmod +x ${plain}`],
    ] as const;
    for (const [name, message, hint] of cases) {
      const error = (() => {
        try {
          return findProgram(name);
        } catch (caught) {
          return caught;
        }
      })();
      expect(error).toBeInstanceOf(MrmTraceError);
      expect(error).toMatchObject({ code: "target" });
      expect((error as MrmTraceError).message).toContain(message);
      expect((error as MrmTraceError).hint).toContain(hint);
    }
  });
});

describe("a held command", () => {
  test("does nothing until it is let go, and then is the process that was held", async () => {
    const out = join(folder, "pid");
    using launched = launchHeld(["sh", "-c", 'echo $$ > "$1"; exit 7', "x", out], { stdoutFd: 2 });
    await Bun.sleep(100);
    expect(existsSync(out)).toBe(false);
    expect(readFileSync(`/proc/${launched.pid}/comm`, "utf8").trim()).toBe("sh");
    launched.release();
    launched.release();
    expect(await launched.ended).toMatchObject({ exit_code: 7, signal: null });
    expect(readFileSync(out, "utf8").trim()).toBe(String(launched.pid));
  });

  test("begins when it is let go, and tells when", async () => {
    using launched = launchHeld(["true"], { stdoutFd: 2 });
    await Bun.sleep(100);
    const before_ns = monotonicNs();
    launched.release();
    const after_ns = monotonicNs();
    const { released_ns, ended_ns } = await launched.ended;
    expect(released_ns).toBeGreaterThanOrEqual(before_ns);
    expect(released_ns).toBeLessThanOrEqual(after_ns);
    expect(ended_ns).toBeGreaterThan(released_ns ?? ended_ns);
  });

  test("that ended before it was let go tells no such moment", async () => {
    using launched = launchHeld(["true"], { stdoutFd: 2 });
    launched.signal("SIGKILL");
    const { released_ns } = await launched.ended;
    expect(released_ns).toBeNull();
  });

  test("gets its words as they are, its environment, its folder, and no fd of ours", async () => {
    const out = join(folder, "words");
    const words = ["a b", "", "$HOME", "*", "-n", "\n"];
    const script =
      'ls /proc/self/fd | wc -l > "$1.fds"; pwd >> "$1.fds"; echo "$MARK" >> "$1.fds"; printf "%s|" "$@" > "$1"';
    using launched = launchHeld(["sh", "-c", script, "x", out, ...words], {
      stdoutFd: 2,
      env: { MARK: "here" },
      cwd: folder,
    });
    launched.release();
    expect((await launched.ended).exit_code).toBe(0);
    expect(readFileSync(out, "utf8")).toBe(`${[out, ...words].join("|")}|`);
    // stdin, stdout, stderr, and the folder that ls reads.
    expect(readFileSync(`${out}.fds`, "utf8")).toBe(`4\n${folder}\nhere\n`);
  });

  test.skipIf(process.getuid?.() !== 0)("is told that it is the user's behind sudo, not root's", async () => {
    const code = `import { launchHeld } from ${JSON.stringify(COMMAND)};
      using launched = launchHeld(["env"], { stdoutFd: 1 });
      launched.release(); await launched.ended;`;
    const nobody = { SUDO_UID: "65534", SUDO_GID: "65534", SUDO_USER: "nobody" };
    const roots = { HOME: "/root", USER: "root", LOGNAME: "root", MAIL: "/var/mail/root", SHELL: "/bin/rootsh" };
    const env = { PATH: process.env.PATH, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0", ...nobody, ...roots };
    const tracer = Bun.spawn([process.execPath, "-e", code], { stdout: "pipe", stderr: "inherit", env });
    const lines = (await tracer.stdout.text()).split("\n");
    expect(lines).toContain("USER=nobody");
    expect(lines).toContain("LOGNAME=nobody");
    expect(lines.filter((line) => /root/.test(line) && !line.startsWith("PATH="))).toEqual([]);
  });

  test("ends by a signal with its name", async () => {
    using launched = launchHeld(["sleep", "60"], { stdoutFd: 2 });
    launched.release();
    await Bun.sleep(50);
    launched.signal("SIGTERM");
    expect(await launched.ended).toMatchObject({ exit_code: null, signal: "SIGTERM" });
  });

  test("that is never let go is gone when it is disposed, and was never run", async () => {
    const out = join(folder, "never");
    const launched = launchHeld(["touch", out], { stdoutFd: 2 });
    launched[Symbol.dispose]();
    expect((await launched.ended).signal).toBe("SIGKILL");
    expect(existsSync(out)).toBe(false);
  });

  test("is not run when the tracer dies first", async () => {
    const out = join(folder, "orphan");
    const code = `import { launchHeld } from ${JSON.stringify(COMMAND)};
      const launched = launchHeld(["touch", ${JSON.stringify(out)}], { stdoutFd: 2 });
      process.stdout.write(String(launched.pid)); await Bun.sleep(50); process.kill(process.pid, "SIGKILL");`;
    const tracer = Bun.spawn([process.execPath, "-e", code], { stdout: "pipe", stderr: "inherit" });
    const pid = await tracer.stdout.text();
    expect(await tracer.exited).not.toBe(0);
    expect(await waitUntil(() => !isRunning(Number(pid)))).toBe(true);
    expect(existsSync(out)).toBe(false);
  });

  test("may be let go after it has died, without any harm to the tracer", async () => {
    const code = `import { launchHeld } from ${JSON.stringify(COMMAND)};
      for (let i = 0; i < 5; i++) {
        using launched = launchHeld(["true"], { stdoutFd: 2 });
        launched.signal("SIGKILL"); await launched.ended; launched.release();
        launched.signal("SIGTERM"); await Bun.sleep(20);
      }
      process.stdout.write("well");`;
    const tracer = Bun.spawn([process.execPath, "-e", code], { stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([tracer.stdout.text(), tracer.stderr.text()]);
    expect([await tracer.exited, stdout, stderr]).toEqual([0, "well", ""]);
  });

  test("leaves no open file with us, however it ended", async () => {
    const round = async (let_go: boolean): Promise<void> => {
      using launched = launchHeld(["true"], { stdoutFd: 2 });
      if (let_go) launched.release();
      else launched[Symbol.dispose]();
      await launched.ended;
      await Bun.sleep(10);
    };
    await round(true);
    await round(false);
    const before = readdirSync("/proc/self/fd").length;
    for (let i = 0; i < 5; i++) {
      await round(true);
      await round(false);
    }
    // The pipes of a child that has ended are closed when the runtime comes to it.
    expect(await waitUntil(() => readdirSync("/proc/self/fd").length <= before)).toBe(true);
  });
});
