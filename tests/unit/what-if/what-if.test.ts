/** The worked examples of docs/what-if.md, and what is said where something is open. */
import { describe, expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import { parse } from "yaml";
import { schemaText } from "../../../src/commands/schema.ts";
import { type Device, deviceSchema } from "../../../src/config/device-schema.ts";
import { toJson } from "../../../src/schema/run-json.ts";
import { renderWhatIf } from "../../../src/what-if/table.ts";
import { whatIf } from "../../../src/what-if/what-if.ts";
import { cacheRows, DEVICE_YAML, endsRow, reportOf, weightRows } from "../../fixtures/asked-of-memory.ts";

const YEAR_S = 365.25 * 86_400;
const TERMINAL = { width: 100, color: false, unicode: true };
const device = (change = ""): Device =>
  deviceSchema.parse({ ...parse(DEVICE_YAML), ...parse(change === "" ? "{}" : change) });

function answers(rows: Parameters<typeof reportOf>[0], one = device()) {
  const found = whatIf(reportOf(rows), [one]).devices[0]?.classes ?? [];
  return (name: string, figure: string) => {
    const row = found.find((each) => each.class === name)?.figures.find((each) => each.figure === figure);
    if (row === undefined) throw new Error(`no ${figure} of ${name}`);
    return row;
  };
}

/** The ends of a figure, to six digits. */
const ends = ({ lo, hi }: { lo: number | null; hi: number | null }) =>
  [lo, hi].map((end) => (end === null ? null : Number(end.toPrecision(6))));
const six = (x: number): number => Number(x.toPrecision(6));

describe("a cache on a device with a retention of 4 s", () => {
  const of = answers(cacheRows());
  const cache = (figure: string) => of("kv_cache", figure);

  test("fits, and is fast enough", () => {
    expect(ends(cache("capacity_share"))).toEqual([0.1, 0.2]);
    expect(ends(cache("read_bytes_per_s"))).toEqual([7.6048e9, 8.45e9]);
    expect(ends(cache("bandwidth_share"))).toEqual([six(7613.494 / 16000), six(8504.1 / 16000)]);
    const [found] = whatIf(reportOf(cacheRows()), [device()]).devices[0]?.classes ?? [];
    expect([found?.fits, found?.is_fast_enough]).toEqual(["yes", "yes"]);
  });

  test("is written again as often as the retention times are that it is needed for, less the first", () => {
    expect(cache("refreshes_per_write_p50")).toMatchObject({ value: 2, lo: 2, hi: 2, status: "ok" });
    expect(cache("refreshes_per_write_p99")).toMatchObject({ value: null, lo: 7, hi: null, status: "bound" });
    expect(ends(cache("refreshes_per_hour"))).toEqual([780, 900]);
    expect(ends(cache("refresh_bytes_per_s"))).toEqual([4.797e6, 50e6]);
    expect(ends(cache("write_bytes_per_s"))).toEqual([8.697e6, 54.1e6]);
  });

  test("takes energy and wears the device as the page says", () => {
    expect(ends(cache("power_w"))).toEqual([six(0.304 + 0.00156 + 0.00211068), six(0.336 + 0.00164 + 0.022)]);
    expect(ends(cache("energy_per_token_j"))).toEqual([six(0.30767068 / 80), six(0.35964 / 80)]);
    expect(ends(cache("life_years"))).toEqual([six(1e15 / 54.1e6 / YEAR_S), six(1e15 / 8.697e6 / YEAR_S)]);
  });

  test("names the measured figures of each, and how often all of them hold", () => {
    expect(cache("refreshes_per_write_p50")).toMatchObject({
      rests_on: ["kv_cache.retention_p50_ns"],
      level_at_least: 0.95,
    });
    expect(cache("refreshes_per_hour").rests_on).toEqual(["kv_cache.retention_p99_ns"]);
    expect(cache("bandwidth_share").level_at_least).toBeLessThan(0.9);
  });
});

describe("weights that nothing writes", () => {
  const of = answers(weightRows());

  test("are kept by the life of their place, and their device lives at least as long as the bound on writes allows", () => {
    expect(of("weight", "refreshes_per_write_p50")).toMatchObject({ lo: 7, hi: null, status: "bound" });
    expect(ends(of("weight", "refreshes_per_hour"))).toEqual([780, 900]);
    expect(ends(of("weight", "refresh_bytes_per_s"))).toEqual([0, 27.5e6]);
    expect(ends(of("weight", "write_bytes_per_s"))).toEqual([0, 29.5e6]);
    expect(ends(of("weight", "life_years"))).toEqual([six(1e15 / 29.5e6 / YEAR_S), null]);
  });
});

test("the page has the numbers of these tests", async () => {
  const page = await Bun.file(new URL("../../../docs/what-if.md", import.meta.url)).text();
  for (const number of ["4.797 MB/s", "8.697 MB/s", "54.1 MB/s", "47.58 %", "53.15 %", "0.3077 W", "0.3596 W"]) {
    expect(page).toContain(number);
  }
  for (const number of [
    "3.846 mJ",
    "4.496 mJ",
    "0.5857 years",
    "3.644 years",
    "1.074 years",
    "27.5 MB/s",
    "29.5 MB/s",
  ]) {
    expect(page).toContain(number);
  }
});

describe("what is open stays open", () => {
  test("a figure that the device file leaves out takes away what rests on it, with the reason, and nothing else", () => {
    const of = answers(cacheRows(), device("{ retention: unknown, read_energy: unknown }"));
    expect(of("kv_cache", "refreshes_per_hour")).toMatchObject({
      status: "not_identifiable",
      why: "the device file does not say its retention",
    });
    // Writes alone are known: their energy is the least that is used.
    expect(ends(of("kv_cache", "power_w"))).toEqual([0.00156, null]);
    expect(of("kv_cache", "power_w").status).toBe("bound");
    expect(ends(of("kv_cache", "capacity_share"))).toEqual([0.1, 0.2]);
  });

  test("a figure that the run could not tell is told with the run's own reason", () => {
    const rows = cacheRows().map((row) =>
      row.metric === "read_bytes_per_s" || row.metric === "write_bytes_per_s"
        ? endsRow(row.metric, "kv_cache", [null, null, null], { why: "n = 9, fewer than 30" })
        : row,
    );
    const of = answers(rows);
    expect(of("kv_cache", "energy_per_token_j")).toMatchObject({ status: "insufficient", why: "n = 9, fewer than 30" });
    expect(of("kv_cache", "refreshes_per_write_p50").status).toBe("ok");
  });

  test("without wear levelling a life has an upper end alone, and without a word on it too", () => {
    for (const change of ["{ wear_levelling: false }", "{ wear_levelling: }"]) {
      const { lo, hi, status } = answers(
        cacheRows(),
        deviceSchema.parse({ ...parse(DEVICE_YAML), wear_levelling: parse(change).wear_levelling ?? undefined }),
      )("kv_cache", "life_years");
      expect([lo, status]).toEqual([0, "bound"]);
      expect(hi).not.toBeNull();
    }
  });

  test("a device that keeps data longer than it is needed writes nothing again", () => {
    const of = answers(cacheRows(), device("{ retention: { from: 20s } }"));
    expect(of("kv_cache", "refreshes_per_write_p50")).toMatchObject({ lo: 0, hi: 0 });
    expect(of("kv_cache", "refreshes_per_write_p99").status).toBe("not_identifiable");
  });

  test("a run without tokens has no energy per token", () => {
    const rows = cacheRows().map((row) => ({ ...row, step: "all" as const }));
    const { target } = reportOf([]);
    const answer = whatIf(reportOf(rows, { target: { ...target, decode_call_tokens_per_s: null } }), [device()]);
    const figures = answer.devices[0]?.classes[0]?.figures ?? [];
    expect(figures.find(({ figure }) => figure === "energy_per_token_j")).toMatchObject({
      why: "the run has no tokens",
    });
    expect(figures.find(({ figure }) => figure === "power_w")?.status).toBe("bound");
  });
});

describe("both sides of a figure", () => {
  test("are of the same time: what is written again is told by what is written over all steps, in which data is kept", () => {
    // It rests for three quarters of the time.
    const rests = cacheRows().map((row) =>
      row.metric === "write_bytes_per_s" && row.step === "all" ? { ...row, value: 1e6, lo: 0.9e6, hi: 1.1e6 } : row,
    );
    expect(ends(answers(rests)("kv_cache", "refresh_bytes_per_s"))).toEqual([six(0.9e6 * 1.23), 50e6]);
    const untold = cacheRows().filter(({ metric, step }) => metric !== "write_bytes_per_s" || step !== "all");
    expect(ends(answers(untold)("kv_cache", "refresh_bytes_per_s"))).toEqual([0, 50e6]);
  });

  test("are of the same bytes: a block of 2 MiB that was touched is not 2 MiB that were", () => {
    const lines = endsRow("working_set_bytes", "kv_cache", [null, 50e6, 200e6], { grain_bytes: 64, source: "pebs" });
    const blocks = endsRow("working_set_bytes", "kv_cache", [200e6, 200e6, 200e6], {
      grain_bytes: 2 ** 21,
      source: "pebs",
    });
    const rows = [lines, blocks, ...cacheRows().filter(({ metric }) => metric !== "working_set_bytes")];
    expect(ends(answers(rows)("kv_cache", "size_bytes"))).toEqual([50e6, 200e6]);
  });

  test("have no upper end where samples fell on some of the pages, and one where a trace holds every access", () => {
    const label = {
      ...{ region_type: "kv_cache", mapping_kind: null, regions: 1, bytes: 10e6 },
      ...{ bytes_are: "touched" as const, access_rows: 1000 },
    };
    const pages = (hi: number | null) =>
      endsRow("working_set_bytes", "kv_cache", [null, 10e6, hi], {
        grain_bytes: 4096,
        source: "import",
        ...{ step: "all" },
      });
    const fits = (hi: number | null) =>
      whatIf(reportOf([pages(hi)], { labels: [label] }), [device("{ capacity: { value: 20MB } }")]).devices[0]
        ?.classes[0]?.fits;
    expect([fits(null), fits(10e6)]).toEqual(["open", "yes"]);
  });

  test("hold what memray saw once, as it lies inside the mappings", () => {
    const heap = { region_type: "unknown", mapping_kind: "heap" };
    const rows = [
      ...cacheRows().map((row) => ({ ...row, ...heap })),
      endsRow("allocated_bytes", "runtime", [150e6, 150e6, 150e6], {
        mapping_kind: "allocation",
        phase: "all",
        step: "all",
      }),
    ];
    const found = whatIf(reportOf(rows), [device()]).devices[0]?.classes ?? [];
    expect(found.map((one) => one.class)).toEqual(["heap"]);
  });
});

describe("a device file that names the bandwidth of one direction alone", () => {
  const oneWay = (change: string) =>
    whatIf(reportOf(cacheRows()), [device(change)]).devices[0]?.classes[0]?.is_fast_enough;

  test("leaves open whether it is fast enough, and says where it is not", () => {
    expect(oneWay("{ bandwidth: unknown, read_bandwidth: { value: 16GB/s } }")).toBe("open");
    expect(oneWay("{ bandwidth: unknown, read_bandwidth: { value: 1GB/s } }")).toBe("no");
    expect(oneWay("{ bandwidth: unknown, read_bandwidth: { value: 16GB/s }, write_bandwidth: { value: 1GB/s } }")).toBe(
      "yes",
    );
  });
});

describe("tiers", () => {
  const small = device("{ name: small, capacity: { value: 115MB }, wear_levelling: false }");
  const large = device("{ name: large }");

  test("each class goes to the first tier that certainly takes it, and others that may share it are counted", () => {
    const faster = "{ bandwidth: { value: 100GB/s } }";
    const { placement } = whatIf(reportOf([...weightRows(), ...cacheRows()]), [
      { ...small, bandwidth: device(faster).bandwidth },
      large,
    ]);
    expect(placement).toEqual([
      { name: "weight", devices: ["small"], is_certain: true },
      { name: "kv_cache", devices: ["large"], is_certain: true },
    ]);
  });

  test("a class that no tier takes goes nowhere, and one that may fit is open", () => {
    const tiny = device("{ name: tiny, capacity: { value: 150MB } }");
    expect(whatIf(reportOf(cacheRows()), [tiny, large]).placement).toEqual([
      { name: "kv_cache", devices: ["tiny", "large"], is_certain: false },
    ]);
    const none = device("{ name: none, capacity: { value: 1MB } }");
    expect(whatIf(reportOf(cacheRows()), [none, none]).placement[0]?.devices).toEqual([]);
  });
});

describe("what is printed", () => {
  test("keeps names from outside from moving the cursor, and every line within the terminal", () => {
    const hostile = device(JSON.stringify({ name: "\u001b[2Jdevice\u202e" }));
    const text = renderWhatIf(whatIf(reportOf([...weightRows(), ...cacheRows()]), [hostile, device()]), TERMINAL);
    expect(text).not.toContain("\u001b");
    expect(text).not.toContain("\u202e");
    for (const line of text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(100);
    expect(text).toContain("goes to");
  });

  test("says how far the run may be trusted, and why", () => {
    const run = reportOf(cacheRows(), { validity: "contaminated", reasons: ["the machine was busy"] });
    const text = renderWhatIf(whatIf(run, [device()]), TERMINAL);
    expect(text).toContain("validity   of the run: contaminated: the machine was busy");
  });

  test("names the figures of a device that are told at second hand, and nothing where none is", () => {
    const told = device("{ endurance: { value: 1e6, source: a talk, kind: secondary, url: https://example.org } }");
    const answer = whatIf(reportOf(cacheRows()), [told]);
    expect(answer.devices[0]?.sources).toContainEqual({
      figure: "endurance",
      source: "a talk",
      kind: "secondary",
      url: "https://example.org",
    });
    expect(renderWhatIf(answer, TERMINAL)).toContain(
      "secondary  endurance: told by another than who made or measured it",
    );
    expect(renderWhatIf(whatIf(reportOf(cacheRows()), [device()]), TERMINAL)).not.toContain("secondary");
  });

  test("is an object of its JSON Schema", async () => {
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
      JSON.parse(await schemaText("what-if", false)),
    );
    const answer = JSON.parse(toJson(whatIf(reportOf([...weightRows(), ...cacheRows()]), [device(), device()])));
    expect(validate(answer) ? [] : validate.errors).toEqual([]);
  });
});
