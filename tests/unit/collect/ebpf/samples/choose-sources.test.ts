import { afterAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import fc from "fast-check";
import { chooseSources, type SourceChoice } from "../../../../../src/collect/ebpf/samples/choose-sources.ts";
import { parsePlace, parseTerms, placeTerms } from "../../../../../src/collect/ebpf/samples/event-terms.ts";
import { readPmus } from "../../../../../src/collect/ebpf/samples/pmu.ts";
import { TREES, type Tree, writeTree } from "../../../../fixtures/pmu-trees.ts";

const KERNEL = "6.12.117+deb12-amd64";
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function choose(tree: Tree, asked: readonly string[], kernelRelease = KERNEL): SourceChoice {
  const folder = writeTree(tree);
  folders.push(folder);
  return chooseSources(asked, { pmus: readPmus(folder), kernelRelease });
}

/** The events of a choice as name: type, config, config1, leader. */
function chosen(tree: Tree, source: string): Record<string, unknown>[] {
  const choice = choose(tree, [source]);
  if (!choice.ok) throw new Error(choice.reason);
  return (choice.samples?.events ?? []).map(
    ({ name, pmu, type, config, config1, config2, leader, cpus, mostPrecise }) => ({
      event: `${pmu}/${name}`,
      type,
      config,
      config1,
      config2,
      leader: leader?.config ?? null,
      cpus: cpus?.length ?? null,
      mostPrecise,
    }),
  );
}

const event = (name: string, config: bigint, more: object = {}) => ({
  event: name,
  type: 4,
  config,
  config1: 0n,
  config2: 0n,
  leader: null,
  cpus: null,
  mostPrecise: name.endsWith("all_loads") ? 3 : 2,
  ...more,
});

describe("PEBS events", () => {
  test("of Skylake and Ice Lake are all loads, all stores and load latency, each by itself", () => {
    const expected = [
      event("cpu/all_loads", 0x81d0n),
      event("cpu/all_stores", 0x82d0n),
      event("cpu/load_latency", 0x1cdn, { config1: 3n }),
    ];
    expect(chosen(TREES.skylake, "pebs")).toEqual(expected);
    expect(chosen(TREES.ice_lake, "pebs")).toEqual(expected);
  });

  test("of Sapphire Rapids put load latency behind its leader, and count all stores instead of a sample of them", () => {
    expect(chosen(TREES.sapphire_rapids, "pebs")).toEqual([
      event("cpu/all_loads", 0x81d0n),
      event("cpu/all_stores", 0x82d0n),
      event("cpu/load_latency", 0x1cdn, { config1: 3n, leader: 0x8203n }),
    ]);
  });

  test("of Alder Lake are opened on the CPUs of each of its two PMUs", () => {
    const core = { cpus: 16 };
    const atom = { cpus: 8, type: 10 };
    expect(chosen(TREES.alder_lake, "pebs")).toEqual([
      event("cpu_atom/all_loads", 0x81d0n, atom),
      event("cpu_atom/all_stores", 0x6d0n, atom),
      event("cpu_atom/load_latency", 0x5d0n, { ...atom, config1: 3n }),
      event("cpu_core/all_loads", 0x81d0n, core),
      event("cpu_core/all_stores", 0x82d0n, core),
      event("cpu_core/load_latency", 0x1cdn, { ...core, config1: 3n, leader: 0x8203n }),
    ]);
  });

  test("ask for the precise level that the PMU has, never for none; for the one that has one counter, once", () => {
    expect(chosen(TREES.sapphire_rapids, "pebs").map(({ mostPrecise }) => mostPrecise)).toEqual([3, 2, 2]);
    const skylake = { ...TREES.skylake, "cpu/caps/max_precise": "2" };
    expect(chosen(skylake, "pebs").map(({ mostPrecise }) => mostPrecise)).toEqual([2, 2, 2]);
  });
});

describe("the IBS event", () => {
  const ops = { type: 11, mostPrecise: 0 };

  test("counts ops and filters nothing, whatever filters the CPU has", () => {
    for (const tree of [TREES.zen_3, TREES.zen_4, TREES.zen_5]) {
      expect(chosen(tree, "ibs")).toEqual([event("ibs_op/ops", 1n << 19n, ops)]);
    }
  });

  test("takes the hardware's randomisation where its format has it", () => {
    const tree = { ...TREES.zen_5, "ibs_op/format/rand_en": "config:57" };
    expect(chosen(tree, "ibs")).toEqual([event("ibs_op/ops", (1n << 19n) | (1n << 57n), ops)]);
  });

  test("has periods in steps of 16", () => {
    const choice = choose(TREES.zen_4, ["ibs"]);
    const first = choice.ok ? choice.samples?.events[0] : undefined;
    expect(first?.periodStep).toBe(16);
    expect((first?.startPeriod ?? 1) % 16).toBe(0);
  });

  test("is refused before 6.1, whose driver gives no address", () => {
    const choice = choose(TREES.zen_3, ["ibs"], "5.15.0-25-generic");
    expect(choice.ok ? "" : choice.reason).toContain("gives samples no address");
  });

  test("is refused where it would count cycles", () => {
    const { "ibs_op/format/cnt_ctl": _, ...tree } = TREES.zen_3 as Record<string, string>;
    const choice = choose(tree, ["ibs"]);
    expect(choice.ok ? "" : choice.reason).toContain("cycles");
  });
});

describe("the choice of sources", () => {
  test("auto takes samples and the watches that they direct where a PMU can sample", () => {
    for (const [tree, source] of [
      [TREES.sapphire_rapids, "pebs"],
      [TREES.zen_4, "ibs"],
    ] as const) {
      const choice = choose(tree, ["auto"]);
      expect(choice).toMatchObject({ ok: true, samples: { source }, watch: true, whyNotBetter: "" });
    }
  });

  test("auto takes watches elsewhere, and says why not better", () => {
    const why = (tree: Tree): string => {
      const choice = choose(tree, ["auto"]);
      expect(choice).toMatchObject({ ok: true, samples: null, watch: true });
      return choice.ok ? choice.whyNotBetter : "";
    };
    expect(why(TREES.vm_without_pmu)).toBe("no PMU here: no pebs, no ibs");
    expect(why(TREES.vm_with_pebs_masked)).toContain("PEBS is not passed through");
    expect(why(TREES.vm_without_pebs)).toContain("mem-loads");
    expect(why(TREES.neoverse)).toContain("Arm SPE");
    expect(why(TREES.ivy_bridge)).toContain("no address for loads");
  });

  test("a source that was named is refused with the reason and a fix where it cannot be had", () => {
    for (const [tree, asked, reason] of [
      [TREES.vm_without_pmu, "pebs", "--source pebs: no PMU here"],
      [TREES.vm_without_pmu, "ibs", "--source ibs: no IBS here"],
      [TREES.vm_with_pebs_masked, "pebs", "max_precise is 0"],
      [TREES.zen_4, "pebs", "no PEBS"],
      [TREES.neoverse, "ibs", "Arm SPE"],
      [TREES.ivy_bridge, "pebs", "ivybridge"],
    ] as const) {
      const choice = choose(tree, [asked, "watch"]);
      expect(choice.ok).toBe(false);
      if (choice.ok) continue;
      expect(choice.reason).toContain(reason);
      expect(choice.hint).toContain("--source watch");
    }
  });

  test("what was not asked for is not used, and watch says that there is better", () => {
    expect(choose(TREES.skylake, ["pebs"])).toMatchObject({ ok: true, watch: false, samples: { source: "pebs" } });
    const watch = choose(TREES.skylake, ["watch"]);
    expect(watch).toMatchObject({ ok: true, watch: true, samples: null });
    expect(watch.ok ? watch.whyNotBetter : "").toBe("pebs is there, and was not asked for");
  });
});

describe("what sysfs says", () => {
  test("values go to the bits that the format names, and what does not fit is refused", () => {
    const pmu = {
      name: "cpu",
      type: 4,
      formats: new Map([
        ["event", "config:0-7,32-35"],
        ["umask", "config:8-15"],
      ]),
      events: new Map(),
      caps: new Map(),
      cpus: null,
    };
    const place = (terms: string) => placeTerms(pmu, parseTerms(terms) ?? new Map())?.config ?? null;
    expect(place("event=0x1ab,umask=0x2")).toBe(0x1_0000_02abn);
    expect(place("event=0x1000")).toBeNull();
    expect(place("ldlat=3")).toBeNull();
  });

  test("hostile files give no event, and never an exception", () => {
    const odd = fc.oneof(fc.string(), fc.constantFrom("config:0-", "config:9-300", "event=,", "=1", "config1:63-0"));
    fc.assert(
      fc.property(odd, odd, (format, events) => {
        parsePlace(format);
        parseTerms(events);
        const formats = new Map([["event", format]]);
        const pmu = {
          name: "cpu",
          type: 4,
          formats,
          events: new Map([["mem-loads", events]]),
          caps: new Map(),
          cpus: null,
        };
        const choice = chooseSources(["pebs"], { pmus: [pmu], kernelRelease: format });
        expect(choice.ok).toBe(false);
      }),
    );
  });
});

describe("the timer", () => {
  const facts = { pmus: [], kernelRelease: KERNEL };

  test("is taken by its name only, beside whatever else was named", () => {
    expect(chooseSources(["auto"], facts)).toMatchObject({ clock: false, watch: true });
    expect(chooseSources(["clock"], facts)).toMatchObject({ ok: true, clock: true, watch: false, samples: null });
    expect(chooseSources(["watch", "clock"], facts)).toMatchObject({ clock: true, watch: true });
    expect(chooseSources(["auto", "clock"], facts)).toMatchObject({ clock: true, watch: true });
  });

  test("is refused where instructions cannot be decoded", () => {
    const refused = chooseSources(["clock"], { ...facts, arch: "arm64" });
    expect(refused).toMatchObject({ ok: false, hint: "use --source watch" });
    expect(chooseSources(["auto"], { ...facts, arch: "arm64" })).toMatchObject({ ok: true, clock: false });
  });
});
