import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  judgePrivileges,
  type PrivilegeFacts,
  privilegeFacts,
  refusalOf,
} from "../../../../src/collect/ebpf/requirements.ts";
import { ALL_CAPABILITIES, bad, named, ROOT, withoutFix } from "../../doctor/machines.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-requirements-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const privileges = (change: Partial<PrivilegeFacts>) => judgePrivileges({ ...ROOT, ...change });
const only = (...bits: number[]) => bits.reduce((caps, bit) => caps | (1n << BigInt(bit)), 0n);
const without = (...bits: number[]) => ALL_CAPABILITIES & ~only(...bits);
const [PERFMON, BPF, SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE] = [38, 39, 21, 19, 2, 40];

describe("privileges", () => {
  test("are enough as root, whatever perf_event_paranoid says", () => {
    for (const perf_event_paranoid of [-1, 2, 3, 4]) expect(bad(privileges({ perf_event_paranoid }))).toEqual([]);
  });

  test("of a user without any say what each missing capability costs", () => {
    const checks = privileges({ uid: 1000, capabilities: 0n, perf_event_paranoid: 4, tracefs: "closed" });
    expect(bad(checks)).toEqual([
      "fail user",
      "fail CAP_BPF",
      "fail CAP_PERFMON",
      "warn CAP_SYS_ADMIN",
      "warn CAP_SYS_PTRACE",
      "warn CAP_SYS_NICE",
      "warn CAP_CHECKPOINT_RESTORE",
      "fail CAP_DAC_READ_SEARCH",
      "fail perf_event_paranoid",
    ]);
    expect(named(checks, "CAP_PERFMON").summary).toContain("no watched loads and stores");
    expect(withoutFix(checks)).toEqual([]);
  });

  test("of a user are those five and two that spare a warning, and each that is left out is named with what gives it", () => {
    const five = [BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE];
    const user = { uid: 1000, tracefs: "closed", perf_event_paranoid: 2 } as const;
    expect(bad(privileges({ ...user, capabilities: only(...five) }))).toEqual([
      "warn CAP_SYS_ADMIN",
      "warn CAP_SYS_NICE",
    ]);
    for (const [left, expected] of [
      [BPF, "fail CAP_BPF"],
      [PERFMON, "fail CAP_PERFMON"],
      [SYS_PTRACE, "warn CAP_SYS_PTRACE"],
      [CHECKPOINT_RESTORE, "warn CAP_CHECKPOINT_RESTORE"],
      [DAC_READ_SEARCH, "fail CAP_DAC_READ_SEARCH"],
    ] as const) {
      const checks = privileges({ ...user, capabilities: only(...five.filter((bit) => bit !== left)) });
      expect(bad(checks)).toContain(expected);
      expect(named(checks, expected.slice(5)).fix).toContain("--ambient-caps=+bpf,+perfmon");
    }
  });

  test("need nothing for a tracefs that is open, and somebody who may mount it where nobody has", () => {
    const capabilities = only(BPF, PERFMON, SYS_PTRACE, CHECKPOINT_RESTORE);
    expect(bad(privileges({ uid: 1000, capabilities }))).toEqual(["warn CAP_SYS_ADMIN", "warn CAP_SYS_NICE"]);
    expect(bad(privileges({ uid: 1000, capabilities, tracefs: "not mounted" }))).toEqual([
      "fail user",
      "fail CAP_SYS_ADMIN",
      "warn CAP_SYS_NICE",
    ]);
    expect(bad(privileges({ tracefs: "not mounted" }))).toEqual([]);
  });

  test("of CAP_SYS_ADMIN stand for CAP_BPF and CAP_PERFMON, as in the kernel", () => {
    expect(bad(privileges({ capabilities: without(BPF, PERFMON) }))).toEqual([]);
    expect(bad(privileges({ capabilities: without(BPF, SYS_ADMIN) }))).toEqual(["fail CAP_BPF", "warn CAP_SYS_ADMIN"]);
  });

  test("of a container name the capability to add", () => {
    const checks = privileges({ capabilities: without(SYS_PTRACE) });
    expect(bad(checks)).toEqual(["warn CAP_SYS_PTRACE"]);
    expect(named(checks, "CAP_SYS_PTRACE").fix).toContain("--cap-add=SYS_PTRACE");
  });

  test("fail where /proc shows other pids, or where root is root of a user namespace only", () => {
    expect(named(privileges({ initial_pid_namespace: false }), "namespaces")).toMatchObject({
      status: "ok",
      summary: expect.stringContaining("pids of a container"),
    });
    expect(named(privileges({ own_proc: false }), "namespaces").fix).toContain("mount -t proc");
    expect(named(privileges({ initial_user_namespace: false }), "namespaces").status).toBe("fail");
    expect(named(privileges({ seccomp: 2 }), "namespaces").status).toBe("warn");
    expect(named(privileges({ initial_pid_namespace: null }), "namespaces").status).toBe("info");
  });

  test("allow events of a CPU without capabilities only where perf_event_paranoid is 0 or less", () => {
    const level = (perf_event_paranoid: number | null) =>
      named(privileges({ capabilities: 0n, perf_event_paranoid }), "perf_event_paranoid").status;
    expect([-1, 0, 1, 2, 4, null].map(level)).toEqual(["ok", "ok", "fail", "fail", "fail", "fail"]);
  });
});

describe("the facts of privileges", () => {
  const process_ = (status: string, uidMap: string, pidNamespace: string): string => {
    const root = mkdtempSync(join(folder, "machine-"));
    mkdirSync(join(root, "proc/self/ns"), { recursive: true });
    mkdirSync(join(root, "proc/sys/kernel"), { recursive: true });
    writeFileSync(join(root, "proc/self/status"), status);
    writeFileSync(join(root, "proc/self/uid_map"), uidMap);
    writeFileSync(join(root, "proc/sys/kernel/perf_event_paranoid"), "2\n");
    symlinkSync(pidNamespace, join(root, "proc/self/ns/pid"));
    return root;
  };

  test("tell a container from the host", () => {
    const root = process_(
      "Name:\tbun\nCapEff:\t00000000a80425fb\nSeccomp:\t2\n",
      "         0     100000      65536\n",
      "pid:[4026532300]",
    );
    const facts = privilegeFacts(0, root);
    expect(facts).toEqual({
      uid: 0,
      capabilities: 0xa80425fbn,
      seccomp: 2,
      initial_pid_namespace: false,
      initial_user_namespace: false,
      own_proc: null,
      perf_event_paranoid: 2,
      tracefs: "not mounted",
    });
    // Docker's default set has neither.
    expect(named(judgePrivileges(facts), "CAP_BPF").status).toBe("fail");
    expect(named(judgePrivileges(facts), "CAP_PERFMON").status).toBe("fail");
  });

  test("of the host are all the initial ones", () => {
    const root = process_("CapEff:\t000001ffffffffff\nSeccomp:\t0\n", "0 0 4294967295\n", "pid:[4026531836]");
    expect(privilegeFacts(0, root)).toMatchObject({ initial_pid_namespace: true, initial_user_namespace: true });
  });

  test("are not known, and judged as such, where /proc is hostile or absent", () => {
    const bytes = fc.uint8Array({ maxLength: 300 });
    const root = process_("", "", "pid:[1]");
    fc.assert(
      fc.property(bytes, bytes, bytes, (status, map, paranoid) => {
        writeFileSync(join(root, "proc/self/status"), status);
        writeFileSync(join(root, "proc/self/uid_map"), map);
        writeFileSync(join(root, "proc/sys/kernel/perf_event_paranoid"), paranoid);
        expect(named(judgePrivileges(privilegeFacts(1000, root)), "user").status).toBe("fail");
      }),
      { numRuns: 60 },
    );
    expect(privilegeFacts(0, join(folder, "nothing")).capabilities).toBeNull();
  });

  test("of tracefs are those of its events: open, or not mounted where its folder is empty", () => {
    const root = process_("", "", "pid:[1]");
    mkdirSync(join(root, "sys/kernel/tracing"), { recursive: true });
    expect(privilegeFacts(0, root).tracefs).toBe("not mounted");
    mkdirSync(join(root, "sys/kernel/tracing/events"));
    expect(privilegeFacts(0, root).tracefs).toBe("open");
  });
});

describe("what is refused before anything is traced", () => {
  const failing = (change: Partial<PrivilegeFacts>) => privileges(change).filter(({ status }) => status === "fail");
  const user = failing({ uid: 1000, capabilities: 0n, perf_event_paranoid: 2, tracefs: "closed" });

  test("is told in one sentence of a user without rights, with what follows from them left out", () => {
    expect(refusalOf(user, "run")).toEqual({
      ok: false,
      reason:
        "tracing needs root, or CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH, which uid 1000 does not have (mrm-trace doctor says what each is for)",
      hint: expect.stringMatching(/^sudo mrm-trace run; or as yourself: .* mrm-trace run$/),
    });
  });

  test("says what the one capability is for that somebody is without who has the others", () => {
    const capabilities = only(BPF, SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE);
    const almost = failing({ uid: 1000, capabilities, perf_event_paranoid: 2, tracefs: "closed" });
    expect(refusalOf(almost, "run").reason).toBe(
      "CAP_PERFMON: missing: no perf events: no faults, no watched loads and stores, no names of mappings",
    );
  });

  test("names no capability where these cannot be read", () => {
    const blind = failing({ uid: 1000, capabilities: null, perf_event_paranoid: 2 });
    expect(refusalOf(blind, "run").reason).toBe("tracing needs root, which uid 1000 is not");
  });

  test("has the command that was asked for", () => {
    expect(refusalOf(user, "attach").hint).toMatch(/^sudo mrm-trace attach; or as yourself: .* mrm-trace attach$/);
  });

  test("names what else is missing too, and of root each by itself", () => {
    const btf = { name: "btf", status: "fail", summary: "none", fix: "build one", data: {} } as const;
    expect(refusalOf([btf, ...user], "run").reason).toEndWith("; btf: none");
    expect(refusalOf([btf], "run")).toEqual({
      ok: false,
      reason: "eBPF cannot run here: btf: none",
      hint: "build one",
    });
    const root = failing({ capabilities: without(BPF, SYS_ADMIN) });
    expect(refusalOf(root, "run").reason).toStartWith("eBPF cannot run here: CAP_BPF: missing: ");
  });
});
