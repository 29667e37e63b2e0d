/** What the command says of the world that the package brings; seeds are fixed, so the outcome is too. */
import { describe, expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import { schemaText } from "../../../src/commands/schema.ts";
import { readWorldFile } from "../../../src/config/world-file.ts";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { renderSimulation } from "../../../src/report/simulation-table.ts";
import { toJson } from "../../../src/schema/run-json.ts";
import { simulate } from "../../../src/simulate/simulate.ts";

const EXAMPLE = new URL("../../../config/world.yaml", import.meta.url).pathname;
const { described } = readWorldFile(EXAMPLE);
const simulation = simulate({ ...described, run: 10e9 }, { seeds: 3 });
const figureOf = (region_type: string, metric: string, step = "all") =>
  simulation.figures.find(
    (figure) => figure.region_type === region_type && figure.metric === metric && figure.step === step,
  );

describe("simulate", () => {
  test("tells the truth of each class by its own bytes", () => {
    // 110 MiB are read once in each token of 7 ms, for two thirds of the time.
    const perSecond = (110 * 2 ** 20) / 0.007;
    const truth = figureOf("weight", "read_bytes_per_s")?.truth?.lo ?? 0;
    expect(truth / perSecond).toBeWithin(0.55, 0.8);
    expect(figureOf("weight", "reads_per_write")?.truth).toBeNull();
    expect(figureOf("activation", "reads_per_write")?.truth?.lo).toBeCloseTo(3, 2);
  });

  test("says what runs would say, and whether that holds the truth", () => {
    for (const { runs, ok, bound, refused, held, right } of simulation.figures) {
      expect([runs, ok + bound + refused]).toEqual([3, 3]);
      expect(held).toBeLessThanOrEqual(ok);
      expect(right).toBeLessThanOrEqual(bound);
    }
    const hits = figureOf("weight", "hits_per_pass");
    expect(hits).toMatchObject({ ok: 3, held: 3, value: 1 });
    expect(figureOf("weight", "retention_p50_ns")).toMatchObject({ refused: 3, value: null });
    expect(figureOf("weight", "write_bytes_per_s")).toMatchObject({ bound: 3, right: 3 });
  });

  test("tells what each token uses, as the tokens are described", () => {
    const reads = figureOf("weight", "reads_per_byte_per_token", "decode");
    // Each word is read in each token; of the first and the last one the run has a part.
    expect(reads?.truth?.lo ?? 0).toBeWithin(0.99, 1.01);
    expect(reads).toMatchObject({ ok: 3, held: 3, refused: 0 });
    expect(reads?.value ?? 0).toBeWithin(0.97, 1.03);
    const written = figureOf("kv_cache", "writes_per_byte_per_token", "decode");
    expect(written?.truth?.lo ?? 0).toBeWithin(0.0023, 0.0027);
    expect(written).toMatchObject({ refused: 0, right: written?.bound, held: written?.ok });
    // Two tokens go over all of the weights.
    const working = figureOf("weight", "working_set_bytes", "decode");
    expect((working?.truth?.lo ?? 0) / (110 * 2 ** 20)).toBeWithin(0.99, 1.0001);
    expect(working).toMatchObject({ refused: 0, right: working?.bound, held: working?.ok });
  });

  test("tells nothing per token where no token is described", () => {
    const world = worldSchema.parse({ run: "1s", strata: [{ class: "weight", bytes: "1MiB", period: "5ms" }] });
    expect(new Set(simulate(world, { seeds: 1 }).figures.map(({ step }) => step))).toEqual(new Set(["all"]));
  });

  test("prints one JSON object of its schema, and a table that fits", async () => {
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
      JSON.parse(await schemaText("simulation", false)),
    );
    expect([validate(JSON.parse(toJson(simulation))), validate.errors]).toEqual([true, null]);
    const text = renderSimulation(simulation, { width: 120, color: false, unicode: false });
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
    for (const { metric } of simulation.figures) expect(text).toContain(`  ${metric}`);
  });

  test("draws others from another first seed on", () => {
    const small = worldSchema.parse({ run: "2s", strata: [{ class: "weight", bytes: "1MiB", period: "5ms" }] });
    const first = simulate(small, { seeds: 1 });
    const second = simulate(small, { seeds: 1, first: 2 });
    expect([first.first_seed, second.first_seed, second.seeds]).toEqual([1, 2, 1]);
    expect(second.figures).not.toEqual(first.figures);
    const both = simulate(small, { seeds: 2 }).figures;
    for (const [i, { metric, held }] of both.entries())
      expect([metric, held]).toEqual([metric, (first.figures[i]?.held ?? 0) + (second.figures[i]?.held ?? 0)]);
  });

  test("holds the truth of work that begins and ends in the run", () => {
    const buffer = { class: "activation", bytes: "20MiB", period: "15ms", uneven: 0.3, writes: 0.25 };
    const world = worldSchema.parse({
      run: "12s",
      budget: 2,
      token: "20ms",
      tensors: true,
      strata: [
        { class: "kv_cache", bytes: "20MiB", period: "20ms", uneven: 0.2, until: "5s", touches: 2, writes: 0.5 },
        { class: "weight", bytes: "100MiB", period: "20ms", uneven: 0.1, from: "5s" },
        { ...buffer, name: "in between", from: "3s", until: "9s", touches: 4, spacing: "1ms" },
        { ...buffer, name: "all along", bytes: "10MiB" },
      ],
    });
    const { figures } = simulate(world, { seeds: 8, first: 500 });
    const sum = (key: "ok" | "held" | "bound" | "right") => figures.reduce((all, figure) => all + figure[key], 0);
    expect([sum("ok") > 80, sum("bound") > 80]).toEqual([true, true]);
    expect(sum("held") / sum("ok")).toBeGreaterThanOrEqual(0.95);
    expect(sum("right") / sum("bound")).toBeGreaterThanOrEqual(0.99);
    // 100 MiB in each 20 ms, for 7 s of 12.
    const read = figures.find(({ region_type, metric }) => region_type === "weight" && metric === "read_bytes_per_s");
    expect(((read?.truth?.lo ?? 0) / ((100 * 2 ** 20) / 0.02)) * (12 / 7)).toBeWithin(0.97, 1.03);
  });

  test("tells from its begin on how much is done", () => {
    const small = worldSchema.parse({ run: "1s", strata: [{ class: "weight", bytes: "1MiB", period: "5ms" }] });
    const shares: number[] = [];
    simulate(small, { seeds: 2, first: 5 }, { onShare: (share) => shares.push(share) });
    expect(shares).toEqual([0, 0.5, 1]);
  });

  test("gives the same for the same description, and other costs give another", () => {
    const small = worldSchema.parse({ run: "2s", strata: [{ class: "weight", bytes: "1MiB", period: "5ms" }] });
    expect(simulate(small, { seeds: 1 })).toEqual(simulate(small, { seeds: 1 }));
    const dear = simulate({ ...small, trap: 100_000, retarget: 1e6 }, { seeds: 1 });
    expect(dear.figures).not.toEqual(simulate(small, { seeds: 1 }).figures);
  });
});
