import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { stepRows } from "../../../src/label/timeline/step-row.ts";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { kvTokens } from "../../fixtures/listed-tokens.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { freePort, untilReady } from "../../validity/laboratory/random-clients.ts";

setDefaultTimeout(120_000);

for (const version of Object.values(BUILDS)) {
  const build = await fetchLlamaServer(version);
  if (!build.ok) process.stderr.write(`skipped: slots that are saved and restored: ${build.reason}\n`);

  test.skipIf(!build.ok)(
    `a slot that is saved and restored into another has the rows that its server has, xllamacpp ${version}`,
    async () => {
      if (!build.ok) return;
      const folder = mkdtempSync(join(tmpdir(), "mrm-saved-slots-"));
      try {
        const model = join(folder, "model.gguf");
        await writeModel({ params: "1m", type: "f16", seed: 1 }, model);
        const port = freePort();
        const post = async (path: string, body: object): Promise<Readonly<Record<string, number>>> => {
          const headers = { connection: "close" };
          const options = { method: "POST", keepalive: false, headers, body: JSON.stringify(body) };
          const response = await fetch(`http://127.0.0.1:${port}${path}`, options);
          expect(response.status).toBe(200);
          return (await response.json()) as Readonly<Record<string, number>>;
        };
        const ask = (id_slot: number, prompt: string) =>
          post("/completion", { id_slot, prompt, n_predict: 12, ignore_eos: true, cache_prompt: true });
        const prompt = "the fox sleeps in the long grass behind the hill";
        let before: EngineRun["steps"] = [];
        let held: Readonly<Record<number, number>> = {};
        let [saved, restored] = [-1, -2];
        await runEngine(build.command(model, port, 512, { slots: 2 }), {
          env: { ...build.env, MRM_SLOTS: folder },
          objects: build.objects,
          async meanwhile(_, pid, stepsSoFar) {
            await untilReady(port);
            await ask(0, prompt);
            saved = (await post("/slots/0?action=save", { filename: "slot" })).n_saved ?? -1;
            const other = await ask(0, "nothing of it is here");
            restored = (await post("/slots/1?action=restore", { filename: "slot" })).n_restored ?? -2;
            const again = await ask(1, prompt);
            held = { 0: other.tokens_cached ?? 0, 1: again.tokens_cached ?? 0 };
            await Bun.sleep(300);
            before = stepsSoFar();
            process.kill(pid, "SIGINT");
          },
        });
        expect(saved).toBeGreaterThan(10);
        expect(restored).toBe(saved);
        // A server restores by itself too, what it kept of a slot's last prompt.
        expect(before.some(({ kind, sequence_id }) => kind === "kv_restore" && sequence_id === 1)).toBe(true);
        const { tokens, untold } = kvTokens(stepRows(before, before[0]?.timestamp_ns ?? 0n));
        expect(untold).toBeNull();
        for (const slot of [0, 1]) {
          const mine = tokens.filter(({ sequence, evict_ns }) => sequence === slot && evict_ns === null);
          const positions = mine.map(({ position }) => position ?? -1).sort((one, another) => one - another);
          expect(positions).toEqual(Array.from({ length: held[slot] ?? 0 }, (_, i) => i));
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
}
