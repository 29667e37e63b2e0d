import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/engine/engine.ts";
import { llamaCpp } from "../../../src/engine/llama-cpp/llama-cpp.ts";
import { runEngine } from "../../fixtures/engine-run.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);

const DRIVER = new URL("../../fixtures/llama_experts.py", import.meta.url).pathname;
/** Its probe is asked for from its first record on, and not for a second of eight. */
const ALWAYS_ASKING: Engine = {
  ...llamaCpp,
  follow: (...given) => ({ ...llamaCpp.follow(...given), isAsking: () => true }),
};

const builds = await Promise.all(Object.values(BUILDS).map(fetchLlamaServer));
for (const build of builds) {
  if (!build.ok) process.stderr.write(`skipped: experts of llama.cpp: ${build.reason}\n`);
}

test.skipIf(builds.some(({ ok }) => !ok)).each([0, 1])(
  "experts that each token reads are those of the engine's own callback, and each reads its matrices once, in build %d",
  async (which) => {
    const build = builds[which];
    if (!build?.ok) throw new Error("no build");
    const folder = mkdtempSync(join(tmpdir(), "mrm-experts-"));
    try {
      const run = await runEngine(["python3", DRIVER, build.objects[0] ?? "", folder], {
        env: build.env,
        engines: [ALWAYS_ASKING],
        objects: build.objects,
        until: (steps) => steps.some(({ kind, end_ns }) => kind === "context" && end_ns !== null),
      });
      const { failed, experts, accesses } = JSON.parse(run.stdout);
      expect(failed).toBe(0);
      // The last layer gets one token of the prompt.
      expect(experts.map(([layer, tokens]: number[]) => [layer, tokens])).toEqual([
        [1, 430],
        [2, 430],
        [3, 31],
      ]);
      const counted = run.steps.flatMap(({ kind, detail }) =>
        kind === "engine" ? (JSON.parse(detail ?? "{}").experts ?? []) : [],
      );
      expect(counted.map((one: unknown[]) => one.slice(0, 3))).toEqual(experts);
      if (accesses.includes(null)) process.stderr.write("skipped: accesses of experts: no registers were free\n");
      else expect(accesses).toEqual(counted[1][2].slice(0, 4));
      // Three matrices of 64 x 32 numbers of 4 bytes for each expert; no token is left out.
      expect(counted.map((one: unknown[]) => one.slice(3))).toEqual(Array(3).fill([3 * 64 * 32 * 4, 0]));
      expect(run.untold).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
