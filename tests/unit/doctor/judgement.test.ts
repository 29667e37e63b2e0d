import { describe, expect, test } from "bun:test";
import { judgePrivileges } from "../../../src/collect/ebpf/requirements.ts";
import { whyBlind } from "../../../src/collect/ebpf/watch/calibrate.ts";
import { judgeAttachPoints } from "../../../src/doctor/attach-points.ts";
import { judgeEngines } from "../../../src/doctor/engines.ts";
import { judgeKernel, type KernelFacts } from "../../../src/doctor/kernel.ts";
import { judgePmu } from "../../../src/doctor/pmu.ts";
import { judgeRegisters, judgeTrapCost, type RegisterFacts } from "../../../src/doctor/registers.ts";
import { judgeRoom } from "../../../src/doctor/room.ts";
import { judgeSampling } from "../../../src/doctor/sampling.ts";
import { judgeSoftware } from "../../../src/doctor/software.ts";
import { judgeSources } from "../../../src/doctor/sources.ts";
import { judgeThermal } from "../../../src/doctor/thermal.ts";
import { refusal } from "../../../src/kernel/bpf-error.ts";
import type { Check } from "../../../src/schema/examination.ts";
import { attached, bad, GOOD_KERNEL, named, pmusOf, ROOT, withoutFix } from "./machines.ts";

const GIB = 2 ** 30;
const kernel = (change: Partial<KernelFacts>) => judgeKernel({ ...GOOD_KERNEL, ...change });

describe("the kernel", () => {
  test("is fine on a current distribution", () => {
    expect(bad(kernel({}))).toEqual([]);
  });

  test.each([
    ["a kernel without BTF", { btf: false }, "fail btf"],
    ["a kernel before attach cookies", { release: "5.10.0-30-amd64" }, "fail kernel"],
    ["a kernel that hides its version", { release: null }, "warn kernel"],
    ["lockdown=confidentiality", { lockdown: "confidentiality" }, "fail lockdown"],
    ["tracefs that nobody mounted", { tracefs: false }, "warn tracefs"],
    ["Arm, whose code is not decoded", { architecture: "arm64" }, "warn processor"],
  ] as const)("%s is one line with its fix", (_, change, expected) => {
    const checks = kernel(change);
    expect(bad(checks)).toEqual([expected]);
    expect(withoutFix(checks)).toEqual([]);
  });

  test("allows all that is used under lockdown=integrity", () => {
    expect(named(kernel({ lockdown: "integrity" }), "lockdown").status).toBe("ok");
  });

  test("says that lockdown is not known where securityfs is not mounted, and how to know it", () => {
    const check = named(kernel({ lockdown: null, securityfs: "not mounted" }), "lockdown");
    expect(check).toMatchObject({ status: "info", fix: "sudo mount -t securityfs securityfs /sys/kernel/security" });
    expect(named(kernel({ lockdown: null, securityfs: "unknown to this kernel" }), "lockdown").fix).toBeNull();
  });

  test("takes 5.15 and a release with one figure more or less as they are", () => {
    for (const release of ["5.15.0", "6.1", "10.0-rc1"]) expect(named(kernel({ release }), "kernel").status).toBe("ok");
  });
});

describe("attach points", () => {
  const REQUIRED = ["lifecycle", "faults", "engine", "watch"];

  test("are fine where every program attaches", () => {
    expect(bad(judgeAttachPoints(REQUIRED.map((name) => attached(name))))).toEqual([]);
  });

  test("name the program, its place and errno where one is refused", () => {
    const refused = [{ program: "fault_user", section: "tp_btf/page_fault_user", why: "attaching failed: ENOENT" }];
    const checks = judgeAttachPoints(
      REQUIRED.map((name) => attached(name, name === "faults" ? { attached: 2, refused } : {})),
    );
    expect(bad(checks)).toEqual(["fail attach: faults"]);
    expect(named(checks, "attach: faults").summary).toContain(
      "fault_user at tp_btf/page_fault_user (attaching failed: ENOENT)",
    );
    expect(withoutFix(checks)).toEqual([]);
  });

  test("tell from libbpf's log which program the verifier refused", () => {
    const message =
      "loading the BPF object watch failed: EACCES\nlibbpf: prog 'watch_trap': BPF program load failed: Permission denied\n; at line 3";
    const [check] = judgeAttachPoints([
      attached("watch", { programs: 0, attached: 0, error: { message, hint: "sudo" } }),
    ]).slice(-1);
    expect(check?.summary).toBe(
      "watched loads and stores: loading the BPF object watch failed: EACCES (program watch_trap: Permission denied)",
    );
  });

  test("send nobody to doctor for the rights that doctor itself names", () => {
    const error = refusal("loading the BPF object faults", 1, "");
    const [check] = judgeAttachPoints([attached("faults", { programs: 0, attached: 0, error })]).filter(
      ({ name }) => name === "attach: faults",
    );
    expect([error.hint, check?.fix]).toEqual([
      expect.stringContaining("mrm-trace doctor"),
      "give the rights that are named missing above",
    ]);
  });

  test("fail for an object that is not built, and do not for hardware samples, which a run can do without", () => {
    const checks = judgeAttachPoints(
      [...REQUIRED.slice(1), "samples"].map((name) =>
        attached(name, name === "samples" ? { error: { message: "refused", hint: "none" } } : {}),
      ),
    );
    expect(bad(checks)).toEqual(["fail attach: lifecycle"]);
    expect(named(checks, "attach: lifecycle").fix).toStartWith("scripts/build-bpf");
    expect(named(checks, "attach: samples").status).toBe("info");
  });
});

describe("debug registers", () => {
  const facts = (count: number, change: Partial<RegisterFacts> = {}): RegisterFacts => ({
    wanted: 4,
    free: {
      count,
      perCpu: new Map([
        [0, count],
        [1, 4],
      ]),
      refusedBy: null,
    },
    tracers: [],
    holders: [],
    ...change,
  });

  test("are fine when all four are free", () => {
    expect(judgeRegisters(facts(4)).status).toBe("ok");
  });

  test("warn when three of four are taken, and say by whom", () => {
    const check = judgeRegisters(
      facts(1, {
        tracers: [{ pid: 4711, comm: "gdb", traces: 42 }],
        holders: [{ pid: 99, comm: "perf", events: 8 }],
      }),
    );
    expect(check).toMatchObject({
      status: "warn",
      fix: "end what holds them, such as: kill 4711; a run takes what is free",
    });
    expect(check.summary).toContain("1 of 4 are free");
    expect(check.summary).toContain("gdb (pid 4711) traces pid 42, perf (pid 99) has 8 perf events");
  });

  test("fail when none is free, and say so where nobody is seen who could hold them", () => {
    const check = judgeRegisters(facts(0));
    expect(check.status).toBe("fail");
    expect(check.summary).toContain("nobody is seen");
  });

  test("fail with errno where the kernel gives none to us, or has none", () => {
    const refused = (refusedBy: number) =>
      judgeRegisters(facts(0, { free: { count: 0, perCpu: new Map(), refusedBy } }));
    expect(refused(13)).toMatchObject({ status: "fail", fix: "sudo mrm-trace run" });
    expect(refused(95).summary).toContain("EOPNOTSUPP");
    expect(refused(95).fix).toContain("CONFIG_HAVE_HW_BREAKPOINT");
  });

  test("say what a trap costs and how many the budget pays for, and warn where it is assumed", () => {
    const measured = {
      trapNs: 10_000,
      warmTrapNs: 8_000,
      retargetNs: 40_000,
      measured: true,
      whyAssumed: null,
      countsEveryTrap: false,
      traps: 1000,
      retargets: 200,
    };
    expect(judgeTrapCost(measured, 1)).toMatchObject({
      status: "ok",
      summary: "10.0 us a trap, 40.0 us a retarget: --budget 1 pays for 1000 traps/s on each CPU",
    });
    expect(judgeTrapCost({ ...measured, measured: false, whyAssumed: "no register: errno 28" }, 1)).toMatchObject({
      status: "warn",
    });
    expect(judgeTrapCost("loading the BPF object watch failed: EPERM", 1).fix).toBe("sudo mrm-trace doctor");
    // As where what runs a virtual machine does not pass its debug registers on: every word would seem idle.
    const blind = { ...measured, measured: false, whyAssumed: "no trap", isBlind: true };
    expect(judgeTrapCost(blind, 1)).toMatchObject({ status: "fail" });
    expect(judgeTrapCost(blind, 1).summary).toContain("do not trap");
    expect(whyBlind(measured)).toBeNull();
  });
});

describe("the PMU", () => {
  const told = (tree: Parameters<typeof pmusOf>[0], virtualisation?: string) => {
    const { status, summary } = judgePmu(pmusOf(tree, virtualisation));
    return `${status} ${summary}`;
  };

  test.each([
    ["skylake", "ok Intel, PEBS: cpu (skylake): all_loads, all_stores, load_latency, precise level 3"],
    ["zen_4", "ok AMD, IBS: ibs_op: ops"],
    [
      "neoverse",
      "warn arm_spe_0, armv8_pmuv3_0, which sample no loads and stores here: loads and stores are seen by watchpoints only",
    ],
    ["ivy_bridge", "warn cpu, which sample no loads and stores here: loads and stores are seen by watchpoints only"],
  ] as const)("of %s is told by the events that a run would open", (tree, expected) => {
    expect(told(tree)).toBe(expected);
  });

  test("of a hybrid processor is told part by part, each with its CPUs", () => {
    const summary = told("alder_lake");
    expect(summary).toStartWith("ok Intel, PEBS, hybrid: ");
    expect(summary).toContain(
      "cpu_core (alderlake_hybrid) on CPUs 0-15: all_loads, all_stores, load_latency led by mem-loads-aux",
    );
    expect(summary).toContain("cpu_atom (alderlake_hybrid) on CPUs 16-23: all_loads");
  });

  test("of a virtual machine is no fault of it", () => {
    const text = "in this virtual machine: loads and stores are seen by watchpoints only";
    expect(told("vm_without_pmu", "QEMU")).toBe(`info none is visible ${text}`);
    expect(told("vm_with_pebs_masked", "QEMU")).toBe(`info cpu, which sample no loads and stores here ${text}`);
    expect(told("ice_lake", "QEMU")).toEndWith("; the hypervisor passes it on");
  });
});

describe("the access source", () => {
  const sources = (
    tree: Parameters<typeof pmusOf>[0],
    checks: readonly Check[] = [named(judgeAttachPoints([attached("samples")]), "attach: samples")],
  ) => judgeSources({ pmu: pmusOf(tree), checks });
  const candidate = (found: ReturnType<typeof sources>, name: string) =>
    found.candidates.find(({ source }) => source === name);

  test("is watch without a PMU, with the reason against each better one", () => {
    const found = sources("vm_without_pmu");
    expect(found.auto).toBe("watch");
    expect(found.candidates.map(({ source, taken }) => `${source} ${taken}`)).toEqual([
      "pebs false",
      "ibs false",
      "watch true",
      "clock false",
    ]);
    expect(found.candidates.filter(({ taken, why_not }) => taken === (why_not !== null))).toEqual([]);
  });

  test("is a hardware source with watch where there is one, which says that it is untested", () => {
    for (const [tree, source] of [
      ["alder_lake", "pebs"],
      ["skylake", "pebs"],
      ["zen_4", "ibs"],
    ] as const) {
      const found = sources(tree);
      expect(found.auto).toBe(`${source},watch`);
      expect(candidate(found, source)).toMatchObject({ taken: true, why_not: null, note: "untested on hardware" });
    }
    expect(candidate(sources("neoverse"), "pebs")?.why_not).toContain("Arm SPE");
  });

  test("is watch alone where the kernel refuses the program of the samples", () => {
    const refused = attached("samples", { error: { message: "loading failed: EACCES", hint: "report it" } });
    const found = sources("skylake", [named(judgeAttachPoints([refused]), "attach: samples")]);
    expect(found.auto).toBe("watch");
    expect(candidate(found, "pebs")?.why_not).toBe("attach: samples: hardware samples: loading failed: EACCES");
  });

  test("is watch alone where the kernel refuses to open the events of the samples", () => {
    const refused = { message: "opening all_loads failed: ENODATA", hint: "use --source watch" };
    const sampling = judgeSampling({ source: "pebs", events: ["cpu/all_loads"], refused });
    expect(sampling).toMatchObject({ status: "warn", fix: "use --source watch" });
    const found = sources("skylake", [named(judgeAttachPoints([attached("samples")]), "attach: samples"), sampling]);
    expect(found.auto).toBe("watch");
    expect(candidate(found, "pebs")?.why_not).toContain("ENODATA");
  });

  test("is none, with the check that failed, where nothing can be watched", () => {
    const found = sources("skylake", judgePrivileges({ ...ROOT, uid: 1000, capabilities: 0n }));
    expect(found.auto).toBeNull();
    expect(candidate(found, "watch")?.why_not).toStartWith("user: uid 1000");
    expect(candidate(found, "pebs")?.why_not).toStartWith("user: uid 1000");
  });
});

describe("software, engines, heat and room", () => {
  const software = {
    bun: "1.4.5",
    bun_needed: ">=1.4.0",
    libbpf: { version: "1.1" },
    perf: { path: "/usr/bin/perf", version: "6.1.0" },
    memray: { path: null, version: null },
  };

  test("name what is missing, and do not fail for what only an import needs", () => {
    expect(bad(judgeSoftware(software))).toEqual([]);
    const old = judgeSoftware({
      ...software,
      bun: "1.3.9",
      libbpf: { missing: "libbpf.so.1 could not be loaded", hint: "apt-get install libbpf1" },
    });
    expect(bad(old)).toEqual(["fail bun", "fail libbpf"]);
    expect(bad(judgeSoftware({ ...software, perf: { path: "/usr/bin/perf", version: null } }))).toEqual(["warn perf"]);
  });

  test("tell of each engine where it is, its build and what will be known of it", () => {
    const found = [
      {
        ...{ engine: "llama.cpp", name: "llama-server", path: "/usr/bin/llama-server", lost: [] },
        ...{ build: "build id ab", functions: 34 },
      },
      { engine: "vLLM", name: "vllm", path: "/opt/bin/vllm", build: "0.32.0", functions: 0, lost: [] },
    ];
    const checks = judgeEngines({ demo: null, demo_possible: true, found });
    const llama = named(checks, "engine: llama.cpp");
    expect([llama.status, llama.data.found]).toEqual(["ok", [found[0]]]);
    expect(llama.summary).toStartWith(
      "llama-server (/usr/bin/llama-server, build id ab, 34 of its functions can be probed): tensors by name",
    );
    expect(named(checks, "engine: vLLM").summary).toBe(
      "vllm (/opt/bin/vllm, 0.32.0): on a CPU, x86-64, as in 0.32: the KV cache by layer, rows and sequences, steps and tokens, and with Python 3.11 to 3.13 weights and requests by name; activations are not identifiable",
    );
    expect(named(checks, "engine: ollama")).toMatchObject({
      status: "info",
      summary: expect.stringContaining("not on PATH (ollama)"),
    });
    expect(named(checks, "demo_engine").status).toBe("info");
    expect(named(checks, "weight_files")).toMatchObject({
      status: "info",
      summary: "whatever maps *.safetensors: weights by name where a file of them stays mapped, whatever engine it has",
    });
    expect(named(checks, "engine: PyTorch").summary).toBe(
      "not in packages of the Pythons on PATH, of an active environment, or of .venv and venv here; attach to it, or give its path behind --: steps and tokens by forward pass, weights by name where a file of them stays mapped or modules of Python 3.11 to 3.13 hold them, static and dynamic KV caches by layer; any other KV cache and activations are not identifiable, as torch's allocator alone knows where they are and costs too much to probe",
    );
  });

  const thermal = (temperature_c: number | null, governor: string | null) =>
    judgeThermal({
      sensors: {
        temperatures: [{ name: "coretemp", path: "" }],
        throttles: [],
        frequencies: [],
        cpuinfoMeasures: false,
      },
      reading: {
        temperature_c,
        core_throttle_events: temperature_c === null ? null : 7,
        package_throttle_events: null,
        throttled_ns: null,
        cpu_freq_min_mhz: governor === null ? null : 800,
        cpu_freq_mean_mhz: governor === null ? null : 900,
        cpu_freq_max_mhz: governor === null ? null : 3600.4,
      },
      governor,
      turbo: true,
      virtualisation: temperature_c === null ? "QEMU" : "none",
    });

  test("say plainly that a virtual machine tells nothing of heat", () => {
    expect(thermal(null, null).map(({ status }) => status)).toEqual(["info", "info", "info"]);
    expect(named(thermal(null, null), "throttle_counters").summary).toContain("a virtual machine has none");
  });

  test("warn of a machine that is too hot for a clean run, and name a governor that moves the clock", () => {
    expect(bad(thermal(85, "performance"))).toEqual([]);
    expect(bad(thermal(85.1, "performance"))).toEqual(["warn temperature"]);
    expect(named(thermal(40, "powersave"), "frequency")).toMatchObject({
      status: "info",
      summary: "800 to 3600 MHz now, governor powersave, turbo on: figures per second move with it",
    });
  });

  const room = (free_bytes: number | null, writable = true, memory_available_bytes: number | null = 8 * GIB) =>
    judgeRoom({ output: "/data/results", folder: "/data", writable, free_bytes, memory_available_bytes }, 4 * GIB);

  test("ask for disk that a run can be written to", () => {
    expect(bad(room(100 * GIB))).toEqual([]);
    expect(bad(room(3 * GIB))).toEqual(["warn disk"]);
    expect(named(room(3 * GIB), "disk").fix).toContain("--max-size 1536MiB");
    expect(bad(room(1000))).toEqual(["fail disk"]);
    expect(bad(room(null))).toEqual(["fail disk"]);
    expect(bad(room(100 * GIB, false))).toEqual(["fail disk"]);
    expect(bad(room(100 * GIB, true, GIB / 4))).toEqual(["warn memory"]);
    expect(withoutFix([...room(1000, true, 1000), ...room(null, true, null)])).toEqual([]);
  });
});
