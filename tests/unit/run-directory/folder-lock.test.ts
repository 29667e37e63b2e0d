import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LOCK, lockFolder } from "../../../src/run-directory/folder-lock.ts";

const WORDS = { busy: "another experiment runs in", instead: "give another folder with --output" };

test("a folder is held by one process at a time, and taken over from one that is gone", () => {
  const folder = mkdtempSync(join(tmpdir(), "mrm-trace-lock-"));
  try {
    const output = join(folder, "new", "results");
    {
      using _held = lockFolder(output, WORDS);
      expect(() => lockFolder(output, WORDS)).toThrow(`another experiment runs in ${output}: process ${process.pid}`);
    }
    expect(existsSync(join(output, LOCK))).toBe(false);
    const gone = Bun.spawnSync(["true"]);
    writeFileSync(join(output, LOCK), `${gone.pid}\n`);
    using _taken = lockFolder(output, WORDS);
    expect(existsSync(join(output, LOCK))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a folder that cannot be written is refused as environment", () => {
  expect(() => lockFolder("/proc/nowhere", WORDS)).toThrow("cannot be written");
});

const LOCK_MODULE = new URL("../../../src/run-directory/folder-lock.ts", import.meta.url).pathname;
const ROUNDS = 60;
const TAKERS = 4;

test("of several that find the lock of a process that is gone at the same moment, one gets the folder", async () => {
  const root = mkdtempSync(join(tmpdir(), "mrm-trace-lock-"));
  try {
    const gone = Bun.spawnSync(["true"]).pid;
    for (let round = 0; round < ROUNDS; round++) {
      mkdirSync(join(root, String(round)));
      writeFileSync(join(root, String(round), LOCK), `${gone}\n`);
    }
    // Each waits for the same moment of every round: they would else come one after another.
    const begin = Date.now() + 1000;
    const script = `import { lockFolder } from ${JSON.stringify(LOCK_MODULE)};
      const held = [];
      for (let round = 0; round < ${ROUNDS}; round++) {
        const at = ${begin} + 10 * round;
        await Bun.sleep(Math.max(0, at - Date.now() - 2));
        while (Date.now() < at);
        try { lockFolder(${JSON.stringify(root)} + "/" + round, ${JSON.stringify(WORDS)}); held.push(round); } catch {}
      }
      console.log(JSON.stringify(held));
      await Bun.stdin.text();`;
    const takers = Array.from({ length: TAKERS }, () =>
      Bun.spawn([process.execPath, "-e", script], { stdin: "pipe", stdout: "pipe", stderr: "inherit" }),
    );
    const lines = await Promise.all(takers.map(async ({ stdout }) => (await stdout.getReader().read()).value));
    for (const { stdin } of takers) stdin.end();
    const held = lines.flatMap((line) => JSON.parse(new TextDecoder().decode(line)) as number[]);
    expect(held.sort((a, b) => a - b)).toEqual(Array.from({ length: ROUNDS }, (_, round) => round));
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("a lock that is a pipe names nobody, and is not waited for", () => {
  const folder = mkdtempSync(join(tmpdir(), "mrm-trace-lock-"));
  try {
    expect(Bun.spawnSync(["mkfifo", join(folder, LOCK)]).exitCode).toBe(0);
    {
      using _held = lockFolder(folder, WORDS);
    }
    expect(existsSync(join(folder, LOCK))).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a lock of a user's folder is made and removed with their rights, at the end of the process too", () => {
  const folder = mkdtempSync(join(tmpdir(), "mrm-trace-lock-"));
  try {
    const script = `import { lockFolder } from ${JSON.stringify(LOCK_MODULE)};
      import { existsSync } from "node:fs";
      import { join } from "node:path";
      const path = join(${JSON.stringify(folder)}, ${JSON.stringify(LOCK)});
      const as = (act) => {
        const before = existsSync(path);
        const value = act();
        if (existsSync(path) !== before) console.log(before ? "removed" : "made");
        return value;
      };
      lockFolder(${JSON.stringify(folder)}, ${JSON.stringify(WORDS)}, as)[Symbol.dispose]();
      lockFolder(${JSON.stringify(folder)}, ${JSON.stringify(WORDS)}, as);
      process.exit(0);`;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", script]);
    expect(stdout.toString().split("\n")).toEqual(["made", "removed", "made", "removed", ""]);
    expect(existsSync(join(folder, LOCK))).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
