import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { tracedTogether } from "../../fixtures/llama-together.ts";
import { compileDebugged } from "../../fixtures/with-debug-data.ts";
import { endLeftRuns, outputFolder } from "../run/cli.ts";

setDefaultTimeout(120_000);
afterEach(endLeftRuns);

const SHORT = 20;

test("processes that are over within a millisecond are read by the offsets of their library as soon as that has probes", async () => {
  const folder = outputFolder();
  try {
    const program = compileDebugged("debugged-engine", "cc", "-g", "-DMOVED");
    const short = `for i in $(seq ${SHORT}); do ${program} </dev/null; done`;
    const { report, steps, tensors } = await tracedTogether([`(${program} probed; sleep 0.2; ${short})`], folder);
    expect(report.warnings).toEqual([]);
    const contexts = steps.filter(({ kind }) => kind === "context");
    expect(contexts.map(({ detail }) => JSON.parse(detail ?? "{}").n_ctx)).toEqual(Array(1 + SHORT).fill(96));
    const placed = Map.groupBy(
      tensors.filter(({ kind }) => kind === "tensor"),
      ({ pid }) => pid,
    );
    expect([...placed.values()].map((mine) => mine.map(({ name }) => name))).toEqual(
      Array(1 + SHORT).fill(["blk.0.attn_k.weight", "cache_k_l0"]),
    );
    const cells = steps.flatMap(({ kind, detail }) =>
      kind === "decode" ? JSON.parse(detail ?? "{}").kv_row_cells : [],
    );
    expect(cells).toEqual(
      Array(1 + SHORT)
        .fill([
          [0, 3],
          [3, 1],
        ])
        .flat(),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
