/** What eBPF needs here, as checks: the one list that doctor prints and that a recording asks before it traces anything. */
import { existsSync } from "node:fs";
import { release } from "node:os";
import { type TracefsState, tracefsState } from "../../kernel/tracefs.ts";
import { check } from "../../schema/check.ts";
import type { Check } from "../../schema/examination.ts";
import { CAPABILITY, capabilitiesIn, FOR_USERS, has } from "../../target/capabilities.ts";
import { type NamespaceFacts, namespaceFacts, refusalOfBpf, refusalOfProc } from "../../target/namespaces.ts";
import { obstacleTo, readProc } from "../../target/proc-file.ts";
import { judgeBtf, judgeVersion } from "./kernel-needs.ts";

export interface PrivilegeFacts extends NamespaceFacts {
  readonly uid: number;
  /** Those in effect; null where they cannot be read. */
  readonly capabilities: bigint | null;
  /** 2 where a filter decides about system calls, as in containers. */
  readonly seccomp: number | null;
  readonly perf_event_paranoid: number | null;
  readonly tracefs: TracefsState;
}

/** @param root prefix of /proc and /sys */
export function privilegeFacts(uid = process.getuid?.() ?? -1, root = ""): PrivilegeFacts {
  const read = readProc(`${root}/proc/self/status`);
  const status = read.ok ? read.text : "";
  const seccomp = /^Seccomp:\s*(\d)$/m.exec(status)?.[1];
  const paranoid = readProc(`${root}/proc/sys/kernel/perf_event_paranoid`);
  return {
    uid,
    capabilities: capabilitiesIn(status, "CapEff"),
    seccomp: seccomp === undefined ? null : Number(seccomp),
    ...namespaceFacts(`${root}/proc`),
    perf_event_paranoid: paranoid.ok && /^-?\d{1,9}\s*$/.test(paranoid.text) ? Number(paranoid.text) : null,
    tracefs: tracefsState(root),
  };
}

interface Needed {
  readonly name: string;
  /** Number in include/uapi/linux/capability.h. */
  readonly bit: number;
  /** What there is not without it. */
  readonly cost: string;
  readonly status: "fail" | "warn";
  /** A capability that gives the same. */
  readonly or?: number;
}

/** What is needed here: tracefs may be open to us as it is, or wait for somebody who may mount it. */
function neededHere({ tracefs }: PrivilegeFacts): readonly Needed[] {
  const needed: Needed[] = [
    {
      name: "CAP_BPF",
      bit: CAPABILITY.bpf,
      or: CAPABILITY.sys_admin,
      status: "fail",
      cost: "no BPF program or map: nothing is traced",
    },
    {
      name: "CAP_PERFMON",
      bit: CAPABILITY.perfmon,
      or: CAPABILITY.sys_admin,
      status: "fail",
      cost: "no perf events: no faults, no watched loads and stores, no names of mappings",
    },
    tracefs === "not mounted"
      ? {
          name: "CAP_SYS_ADMIN",
          bit: CAPABILITY.sys_admin,
          status: "fail",
          cost: "tracefs is not mounted and cannot be: no system calls, so no mappings",
        }
      : {
          name: "CAP_SYS_ADMIN",
          bit: CAPABILITY.sys_admin,
          status: "warn",
          cost: "no measured cost of our own programs; before Linux 6.6 no engine probes: no tensors, no steps",
        },
    {
      name: "CAP_SYS_PTRACE",
      bit: CAPABILITY.sys_ptrace,
      status: "warn",
      cost: "no process of another user can be attached to",
    },
    {
      name: "CAP_SYS_NICE",
      bit: CAPABILITY.sys_nice,
      status: "warn",
      cost: "watches begin late where the program has a thread for each CPU, and more of them while it rests",
    },
    {
      name: "CAP_CHECKPOINT_RESTORE",
      bit: CAPABILITY.checkpoint_restore,
      or: CAPABILITY.sys_admin,
      status: "warn",
      cost: "files by their mappings: no engine on overlay or btrfs, as in a container, or whose file was replaced",
    },
  ];
  if (tracefs !== "closed") return needed;
  const cost = "tracefs stays closed: no system calls, so no mappings";
  return [...needed, { name: "CAP_DAC_READ_SEARCH", bit: CAPABILITY.dac_read_search, status: "fail", cost }];
}

function missing(facts: PrivilegeFacts): readonly Needed[] {
  const { capabilities } = facts;
  if (capabilities === null) return [];
  return neededHere(facts).filter(
    ({ bit, or }) => !has(capabilities, bit) && !(or !== undefined && has(capabilities, or)),
  );
}

function judgeUser(facts: PrivilegeFacts): Check {
  const { uid } = facts;
  const data = { uid };
  if (uid === 0) return check("user", "ok", "root", { data });
  if (facts.capabilities !== null && !missing(facts).some(({ status }) => status === "fail"))
    return check("user", "ok", `uid ${uid}, with the capabilities that tracing needs`, { data });
  const summary = `uid ${uid}: \`run\` needs root or capabilities; analyse and import do not`;
  return check("user", "fail", summary, { fix: FOR_USERS, data });
}

function judgeCapabilities(facts: PrivilegeFacts): Check[] {
  if (facts.capabilities === null) {
    return [check("capabilities", "warn", "/proc/self/status does not say them", { fix: "mount -t proc proc /proc" })];
  }
  const lacking = missing(facts);
  const data = { effective: `0x${facts.capabilities.toString(16)}`, missing: lacking.map(({ name }) => name) };
  const names = neededHere(facts).map(({ name }) => name);
  if (lacking.length === 0) return [check("capabilities", "ok", names.join(", "), { data })];
  return lacking.map(({ name, cost, status }) =>
    check(name, status, `missing: ${cost}`, {
      fix:
        facts.uid === 0
          ? `docker run --cap-add=${name.slice(4)} ..., or AmbientCapabilities=${name} in its unit`
          : name === "CAP_SYS_ADMIN"
            ? "sudo mrm-trace run"
            : FOR_USERS,
      data,
    }),
  );
}

function judgeNamespaces(facts: PrivilegeFacts): Check {
  const { initial_pid_namespace, initial_user_namespace, own_proc, seccomp } = facts;
  const data = { initial_pid_namespace, initial_user_namespace, own_proc, seccomp };
  const refusal = refusalOfBpf(facts) ?? refusalOfProc(facts);
  if (refusal !== null) return check("namespaces", "fail", refusal.reason, { fix: refusal.fix, data });
  if (seccomp === 2) {
    return check("namespaces", "warn", "a seccomp filter is on: it may refuse bpf and perf_event_open", {
      fix: "docker run --security-opt seccomp=unconfined ...",
      data,
    });
  }
  if (initial_pid_namespace === null || initial_user_namespace === null)
    return check("namespaces", "info", "not known", { data });
  const pids = initial_pid_namespace
    ? "those of the host"
    : "pids of a container: rows call processes as its /proc does";
  return check("namespaces", "ok", pids, { data });
}

/** CPU-wide events need 0 or less without CAP_PERFMON (perf_allow_cpu in include/linux/perf_event.h). */
function judgeParanoid({ perf_event_paranoid: level, capabilities }: PrivilegeFacts): Check {
  const data = { perf_event_paranoid: level };
  if (level === null) {
    return check(
      "perf_event_paranoid",
      "fail",
      "missing: this kernel has no perf events, so no faults and no watches",
      {
        fix: "boot a kernel with CONFIG_PERF_EVENTS=y",
        data,
      },
    );
  }
  if (capabilities !== null && (has(capabilities, CAPABILITY.perfmon) || has(capabilities, CAPABILITY.sys_admin))) {
    return check("perf_event_paranoid", "ok", `${level}: does not bind who has CAP_PERFMON`, { data });
  }
  if (level <= 0)
    return check("perf_event_paranoid", "ok", `${level}: events of whole CPUs are allowed to all`, { data });
  return check(
    "perf_event_paranoid",
    "fail",
    `${level}: without CAP_PERFMON no event may cover a CPU: no watches, no faults`,
    { fix: FOR_USERS, data },
  );
}

export function judgePrivileges(facts: PrivilegeFacts): Check[] {
  return [judgeUser(facts), ...judgeCapabilities(facts), judgeNamespaces(facts), judgeParanoid(facts)];
}

/** What fails of it on this machine, for this process. */
export function failedRequirements(): Check[] {
  const kernel = { release: release(), architecture: process.arch, btf: existsSync("/sys/kernel/btf/vmlinux") };
  const checks = [judgeVersion(kernel), judgeBtf(kernel), ...judgePrivileges(privilegeFacts())];
  return checks.filter(({ status }) => status === "fail");
}

type Verb = "run" | "attach";

/** A fix with the command that was asked for. */
const inWordsOf = (fix: string, verb: Verb): string => fix.replaceAll("mrm-trace run", `mrm-trace ${verb}`);
const list = (names: readonly string[]): string => names.join(", ").replace(/, ([^,]+)$/, " and $1");

function lackOf({ data: { uid } }: Check, failed: readonly Check[]): string {
  const lacking = failed.filter(({ name }) => name.startsWith("CAP_"));
  const [first] = lacking;
  // Without /proc nobody knows them.
  if (first === undefined) return `tracing needs root, which uid ${uid} is not`;
  // Who has the others knows what they are, and asks what this one is for.
  if (lacking.length === 1) return `${first.name}: ${first.summary}`;
  const names = list(lacking.map(({ name }) => name));
  return `tracing needs root, or ${names}, which uid ${uid} does not have (mrm-trace doctor says what each is for)`;
}

/**
 * Why nothing can be traced. Of who is not root that is one lack, whatever follows from it.
 * @param failed of the checks, at least one
 * @param verb that was asked for
 */
export function refusalOf(failed: readonly Check[], verb: Verb) {
  const user = failed.find(({ name }) => name === "user");
  const ofUser = (one: Check): boolean => user !== undefined && (one.fix === user.fix || one.name.startsWith("CAP_"));
  const others = failed.filter((one) => !ofUser(one)).map(({ name, summary }) => `${name}: ${summary}`);
  const reasons = user === undefined ? others : [lackOf(user, failed), ...others];
  const reason = `${user === undefined ? "eBPF cannot run here: " : ""}${reasons.join("; ")}`;
  const fixes = new Set(failed.filter((one) => one === user || !ofUser(one)).map(({ fix }) => fix));
  const hint = inWordsOf([...fixes].join("; "), verb);
  return { ok: false, reason, hint } as const;
}

/**
 * Why the memory of a process is not ours to read, from which its code and tensors are; null where it is, or where more
 * than a capability keeps it from us. Of our own command it is, and for all who may trace.
 */
export function closedTarget(
  pid: number,
  verb: Verb,
): { readonly ok: false; readonly reason: string; readonly hint: string } | null {
  const { uid, capabilities } = privilegeFacts();
  if (capabilities === null || has(capabilities, CAPABILITY.sys_ptrace)) return null;
  if (obstacleTo(`/proc/${pid}/mem`) !== "denied") return null;
  const reason = `CAP_SYS_PTRACE: missing: the memory of process ${pid} is closed to uid ${uid}`;
  return { ok: false, reason, hint: inWordsOf(FOR_USERS, verb) };
}
