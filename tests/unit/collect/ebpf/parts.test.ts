import { describe, expect, test } from "bun:test";
import { capabilityOf, type PartOptions, PROGRAMS, planParts } from "../../../../src/collect/ebpf/parts.ts";
import { bpfObjectHashes } from "../../../../src/kernel/bpf-object-files.ts";

const OPTIONS: PartOptions = { sources: ["auto"], watchRegisters: 4, clockHz: 100, seed: 1, engineObjects: [] };
const NO_PMU = { pmus: [], kernelRelease: "6.18.0", arch: "x64" };

function planned(options: Partial<PartOptions>) {
  const plan = planParts({ ...OPTIONS, ...options }, NO_PMU);
  if (!plan.ok) throw new Error(plan.reason);
  const can = capabilityOf(plan);
  if (!can.ok) throw new Error(can.reason);
  return { names: plan.parts.map(({ name }) => name), can };
}

describe("the parts of the eBPF collector", () => {
  test("are all objects that are built, but the ones that measure rings in tests and ask for the numbers of processes", () => {
    const built = Object.keys(bpfObjectHashes()).filter((name) => name !== "bench" && name !== "pids");
    expect(PROGRAMS.map(({ name }) => name).sort()).toEqual(built.sort());
  });

  test("tell metadata.json under keys of their own", () => {
    const keys = PROGRAMS.flatMap(({ tells }) => tells);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("are those that were asked for", () => {
    expect(planned({}).names).toEqual(["residency", "faults", "engine", "clock", "watch"]);
    expect(planned({ parts: ["residency"] }).names).toEqual(["residency"]);
    expect(planned({ parts: ["faults"] }).names).toEqual(["faults"]);
    expect(planned({ parts: ["accesses"], sources: ["clock", "watch"] }).names).toEqual(["clock", "watch"]);
    expect(planned({ parts: ["mem:0x1000/8:rw"], sources: ["clock"] }).names).toEqual(["watch"]);
    expect(planned({ watchRegisters: 0 }).names).toEqual(["residency", "faults", "engine"]);
  });

  test("have a timer beside drawn watches, which tells where the program is most, unless a PMU does or it cannot decode", () => {
    expect(planned({ parts: ["accesses"], sources: ["watch"] }).names).toEqual(["clock", "watch"]);
    const other = planParts({ ...OPTIONS, parts: ["accesses"] }, { ...NO_PMU, arch: "arm64" });
    expect(other.ok && other.parts.map(({ name }) => name)).toEqual(["watch"]);
  });

  test("say what they identify and why they identify no more", () => {
    expect(planned({}).can).toMatchObject({
      sources: ["watch"],
      identifies: ["watch", "step", "region_map"],
      blindTo: "no PMU sampled the accesses",
    });
    expect(planned({ sources: ["clock"] }).can).toMatchObject({
      sources: ["clock"],
      identifies: ["clock", "step", "region_map"],
      blindTo: "a timer samples time, not accesses, and no bytes were watched",
    });
    expect(planned({ watchRegisters: 0 }).can).toMatchObject({
      sources: [],
      identifies: ["step", "region_map"],
      blindTo: "no bytes were watched, and no accesses sampled",
    });
    expect(planned({ parts: ["faults"] }).can).toMatchObject({
      identifies: ["region_map"],
      blindTo: "--ebpf recorded mappings, faults alone",
    });
  });

  test("are refused together where a source was named that this machine does not have", () => {
    expect(planParts({ ...OPTIONS, sources: ["pebs"] }, NO_PMU)).toMatchObject({ ok: false });
  });
});
