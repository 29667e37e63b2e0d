import { describe, expect, test } from "bun:test";
import { armsOf } from "../../../src/compare/arms.ts";
import { placementOf } from "../../../src/compare/placement.ts";
import { engineThreads, spinningWarning, threadEnvironment } from "../../../src/compare/settings.ts";
import { tracerWords } from "../../../src/config/compare.ts";

describe("the settings beside a slowdown", () => {
  test("are the variables of threads, and no others", () => {
    const env = { OMP_NUM_THREADS: "2", PATH: "/bin", GOMP_SPINCOUNT: "1000", MKL_NUM_THREADS: "1" };
    expect(threadEnvironment(env)).toEqual({ GOMP_SPINCOUNT: "1000", MKL_NUM_THREADS: "1", OMP_NUM_THREADS: "2" });
  });

  test("are the threads that an engine is told to use, where it is told", () => {
    expect(engineThreads(["llama-server", "-m", "x", "-t", "2"])).toBe(2);
    expect(engineThreads(["llama-cli", "-t", "8", "--threads=3", "-n", "5"])).toBe(3);
    expect(engineThreads(["python3", "-t"])).toBeNull();
    expect(engineThreads(["llama-server", "--threads", "all"])).toBeNull();
  });

  test("warn of barriers that spin where threads may be as many as CPUs, and only there", () => {
    expect(spinningWarning(true, 1, {})).toContain("OMP_WAIT_POLICY=passive");
    expect(spinningWarning(true, 2, { OMP_NUM_THREADS: "2" })).toContain("spin");
    expect(spinningWarning(false, 1, {})).toBeNull();
    expect(spinningWarning(true, 1, { OMP_WAIT_POLICY: "PASSIVE" })).toBeNull();
    expect(spinningWarning(true, 1, { OMP_NUM_THREADS: "1" })).toBeNull();
    expect(spinningWarning(true, 4, { OMP_NUM_THREADS: "3" })).toBeNull();
  });
});

describe("the CPUs", () => {
  test("are the last for the tools and the others for the target, all for both where there is one", () => {
    expect(placementOf(true, [0, 1, 5])).toEqual({ targetCpus: [0, 1], toolCpus: [5], pinned: true });
    expect(placementOf(true, [3])).toEqual({ targetCpus: [3], toolCpus: [3], pinned: false });
    expect(placementOf(false, [0, 1]).pinned).toBe(false);
  });
});

describe("the arms", () => {
  test("begin with off twice, hold each name once, and may be several collectors together", () => {
    expect(armsOf(["off", "ebpf", "ebpf", "ebpf+process"])).toEqual([
      { name: "off", options: null },
      { name: "off-again", options: null },
      { name: "ebpf", options: ["--collector", "ebpf"] },
      { name: "ebpf+process", options: ["--collector", "ebpf,process"] },
    ]);
  });

  test("take the options that were given for the tracer, and their own behind them", () => {
    const given = [
      { key: "run.budget", value: 2, from: "--budget" },
      { key: "run.source", value: ["pebs", "watch"], from: "a.yaml:3" },
      { key: "run.max_size", value: "1GiB", from: "default" },
      { key: "run.output", value: "elsewhere", from: "--output" },
      { key: "demo.params", value: "15m", from: "--params" },
    ];
    expect(tracerWords(given)).toEqual(["--budget", "2", "--source", "pebs,watch"]);
    expect(armsOf(["attached-idle"], ["--budget", "2"]).at(-1)?.options).toEqual([
      ...["--budget", "2", "--collector", "ebpf", "--ebpf", "faults,engine"],
    ]);
  });

  test("may be modes of one collector side by side, of several words with a plus between", () => {
    const optionsOf = (name: string) => armsOf([name]).at(-1)?.options?.slice(2);
    expect(optionsOf("perf-mem:page-faults")).toEqual(["--perf", "page-faults"]);
    expect(optionsOf("perf-mem:cpu-clock+freq=500")).toEqual(["--perf", "cpu-clock,freq=500"]);
    expect(optionsOf("perf-mem:mem:0x10/8:rw")).toEqual(["--perf", "mem:0x10/8:rw"]);
    expect(optionsOf("ebpf:faults")).toEqual(["--ebpf", "faults"]);
    expect(optionsOf("ebpf:mem:0x10/8:rw")).toEqual(["--ebpf", "mem:0x10/8:rw"]);
    expect(optionsOf("ebpf:watch")).toEqual(["--ebpf", "accesses", "--source", "watch"]);
    expect(optionsOf("memray:native+follow-fork")).toEqual(["--memray", "native,follow-fork"]);
  });

  test("are refused before anything runs where a mode is none", () => {
    for (const name of ["ebpf:fautls", "ebpf:mem:0x11/8:rw", "perf-mem:freq=0", "memray:naitve"]) {
      expect(() => armsOf([name])).toThrow(expect.objectContaining({ code: "usage" }));
    }
  });

  test("that nobody knows are refused with the names that there are", () => {
    expect(() => armsOf(["off", "ebfp"])).toThrow('there is no arm "ebfp"');
  });
});
