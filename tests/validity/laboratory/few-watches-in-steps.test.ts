/** Hot bytes in each token of a short run, of which few watches draw none: steps alone do not make a value of what the others do. The seeds are fixed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { simulate } from "../../../src/simulate/simulate.ts";

setDefaultTimeout(180_000);

const SEEDS = 12;

test("hot bytes of which few watches in steps draw none leave bounds of what is read, which hold the truth", () => {
  const hot = { class: "weight", bytes: "1GiB", period: "190ms", uneven: 0.6, hot: { share: 0.009, times: 40 } };
  const { figures } = simulate(worldSchema.parse({ run: "8s", token: "190ms", strata: [hot] }), { seeds: SEEDS });
  for (const [metric, step] of [
    ["read_bytes_per_s", "all"],
    ["reads_per_byte_per_token", "decode"],
  ]) {
    const { ok, held, bound, right } = figures.find((row) => row.metric === metric && row.step === step) ?? {};
    expect([metric, held, right]).toEqual([metric, ok, bound]);
    expect(bound).toBeGreaterThan(SEEDS / 2);
  }
});
