import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ALLOCATION_LIVES } from "../../../src/analyse/process/allocation-lives.ts";
import { ALLOCATION_SITES } from "../../../src/analyse/process/allocation-sites.ts";
import { ALLOCATION_TOTALS } from "../../../src/analyse/process/allocation-totals.ts";

const QUERIES = {
  ALLOCATION_LIVES,
  ALLOCATION_SITES,
  ALLOCATION_TOTALS,
};
const VENV = join(tmpdir(), "mrm-trace-sqlglot-30.30.0");
const PYTHON = join(VENV, "bin", "python");

/** Reads a query as DuckDB writes it, writes it for Spark, and reads that again; what Spark lacks is an error. */
const TRANSPILE = `
import sys, sqlglot
out = sqlglot.transpile(sys.stdin.read(), read="duckdb", write="spark", unsupported_level=sqlglot.ErrorLevel.RAISE)
assert len(out) == 1
sqlglot.parse_one(out[0], read="spark")
`;

/** Why the transpiler cannot be had; null when it is there. */
function missing(): string | null {
  if (existsSync(PYTHON) && Bun.spawnSync([PYTHON, "-c", "import sqlglot"]).exitCode === 0) return null;
  if (Bun.spawnSync(["python3", "-m", "venv", VENV]).exitCode !== 0) return "python3 has no venv";
  const pip = Bun.spawnSync([PYTHON, "-m", "pip", "install", "-q", "--timeout", "15", "sqlglot==30.30.0"]);
  return pip.exitCode === 0 ? null : "sqlglot cannot be installed from PyPI";
}

const reason = missing();
if (reason !== null) process.stderr.write(`skipping the dialect tests: ${reason}\n`);

for (const [name, query] of Object.entries(QUERIES)) {
  test.skipIf(reason !== null)(`${name} is written in the dialect that Spark shares`, () => {
    const run = Bun.spawnSync([PYTHON, "-c", TRANSPILE], { stdin: Buffer.from(query) });
    expect(run.stderr.toString()).toBe("");
    expect(run.exitCode).toBe(0);
  });
}

test.skipIf(reason !== null)("the transpiler refuses a query outside the dialect", () => {
  const query = "SELECT * FROM a ASOF JOIN b ON a.t >= b.t POSITIONAL x";
  expect(Bun.spawnSync([PYTHON, "-c", TRANSPILE], { stdin: Buffer.from(query) }).exitCode).not.toBe(0);
});
