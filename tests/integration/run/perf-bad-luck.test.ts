import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { LedgerPlace } from "../../../src/schema/ledger.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

const output = outputFolder();
afterEach(endLeftRuns);
afterAll(() => rmSync(output, { recursive: true, force: true }));

const RUN = ["run", ...QUICK, "--json", "--collector", "perf-mem", "--perf", "page-faults"];

interface Report {
  readonly run_dir: string | null;
  readonly error?: { readonly message: string; readonly hint: string };
  readonly warnings: readonly string[];
  readonly ledger: readonly (LedgerPlace & { readonly kept: string; readonly dropped: string })[];
}

async function run(words: readonly string[], options: Parameters<typeof runCli>[1] = {}) {
  const ended = await runCli([...RUN, ...words], options);
  return { ...ended, report: jsonOf(ended) as unknown as Report };
}

/** A folder that stands for PATH: every program of the machine but perf, which is `script` or missing. */
function pathWith(name: string, script: string | null): Record<string, string> {
  const folder = join(output, name);
  mkdirSync(folder);
  const taken = new Set(["perf"]);
  for (const from of (process.env.PATH ?? "").split(delimiter)) {
    for (const program of namesIn(from)) {
      if (taken.has(program)) continue;
      taken.add(program);
      symlinkSync(join(from, program), join(folder, program));
    }
  }
  if (script !== null) {
    writeFileSync(join(folder, "perf"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, "perf"), 0o755);
  }
  return { PATH: folder };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // PATH may name what is not there.
  }
}

describe("a perf that cannot do its part", () => {
  test("since it is not installed: exit code 3, and how to install it", async () => {
    const { exitCode, report } = await run(["--output", join(output, "a"), "--", "true"], {
      env: pathWith("none", null),
    });
    expect(exitCode).toBe(3);
    expect(report.error).toMatchObject({
      message: expect.stringContaining("perf is not installed"),
      hint: expect.stringContaining("apt-get install linux-perf"),
    });
  });

  test("since it is too old for an option: exit code 3, what it said, and the target never ran", async () => {
    const mark = join(output, "ran");
    const env = pathWith("old", "echo 'Error: unknown option `control'\\''' >&2; exit 129");
    const { exitCode, report } = await run(["--output", join(output, "b"), "--", "touch", mark], { env });
    expect(exitCode).toBe(3);
    expect(report.error?.message).toMatch(/perf could not start: .*unknown option/);
    expect(report.error?.hint).toContain("perf record");
    expect(namesIn(output)).not.toContain("ran");
  });

  test("since the disk is full: what fitted is kept, and it is said", async () => {
    const full = join(output, "full");
    mkdirSync(full);
    const mount = 'mount -t tmpfs -o size=2m none "$0" && exec "$@"';
    const prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, full];
    const toucher =
      "import mmap\nfor n in range(8):\n m=mmap.mmap(-1,1<<26)\n for i in range(0,1<<26,4096): m[i]=1\n m.close()\n";
    const { exitCode, report } = await run(["--output", full, "--", "python3", "-c", toucher], { prefix });
    expect(exitCode).toBe(3);
    expect(`${report.error?.message} ${report.warnings?.join()}`).toMatch(/ENOSPC|space/i);
    expect(report.run_dir).toContain(full);
    expect(report.error?.hint).toContain("free some space");
  });
});

test("a target that ends at once is recorded from its first fault to its last", async () => {
  const { exitCode, report } = await run(["--output", join(output, "c"), "--", "true"]);
  expect(exitCode).toBe(0);
  expect(rowsAt(report.ledger, { stream: "fault", stage: "ring", way: "perf" })[0]).toMatchObject({ dropped: "0" });
  const rows = [...readStream(report.run_dir ?? "", "fault")].reduce((sum, batch) => sum + batch.rows, 0);
  expect(rows).toBeGreaterThan(20);
});
