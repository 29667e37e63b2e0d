/** Who we are to the kernel: user, capabilities, namespaces, and what perf allows. */
import type { Check } from "../schema/examination.ts";
import { type NamespaceFacts, namespaceFacts, refusalOfBpf, refusalOfProc } from "../target/namespaces.ts";
import { readProc } from "../target/proc-file.ts";
import { check } from "./check.ts";

export interface PrivilegeFacts extends NamespaceFacts {
  readonly uid: number;
  /** CapEff of /proc/self/status; null where it cannot be read. */
  readonly capabilities: bigint | null;
  /** 2 where a filter decides about system calls, as in containers. */
  readonly seccomp: number | null;
  readonly perf_event_paranoid: number | null;
}

export function privilegeFacts(uid: number, perf_event_paranoid: number | null, procRoot = "/proc"): PrivilegeFacts {
  const read = readProc(`${procRoot}/self/status`);
  const status = read.ok ? read.text : "";
  const caps = /^CapEff:\s*([0-9a-f]{1,16})$/m.exec(status)?.[1];
  const seccomp = /^Seccomp:\s*(\d)$/m.exec(status)?.[1];
  return {
    uid,
    capabilities: caps === undefined ? null : BigInt(`0x${caps}`),
    seccomp: seccomp === undefined ? null : Number(seccomp),
    ...namespaceFacts(procRoot),
    perf_event_paranoid,
  };
}

interface Needed {
  readonly name: string;
  /** Number in include/uapi/linux/capability.h. */
  readonly bit: number;
  readonly cost: string;
  readonly status: "fail" | "warn";
  /** A capability that gives the same. */
  readonly or?: number;
  /** True where the owner of root's files does not need it. */
  readonly notForRoot?: boolean;
}

const CAP_DAC_OVERRIDE = 1;
const CAP_SYS_ADMIN = 21;

const NEEDED: readonly Needed[] = [
  { name: "CAP_BPF", bit: 39, or: CAP_SYS_ADMIN, status: "fail", cost: "no BPF program or map: nothing is traced" },
  {
    name: "CAP_PERFMON",
    bit: 38,
    or: CAP_SYS_ADMIN,
    status: "fail",
    cost: "no perf events: no faults, no watched loads and stores, no names of mappings",
  },
  {
    name: "CAP_SYS_ADMIN",
    bit: CAP_SYS_ADMIN,
    status: "warn",
    cost: "no measured cost of our own programs; before Linux 6.6 no engine probes: no tensors, no steps",
  },
  {
    name: "CAP_SYS_PTRACE",
    bit: 19,
    status: "warn",
    cost: "processes of other users: no mappings from before the start, no tensors of a graph",
  },
  {
    name: "CAP_DAC_READ_SEARCH",
    bit: 2,
    or: CAP_DAC_OVERRIDE,
    notForRoot: true,
    status: "fail",
    cost: "tracefs stays closed: no system calls, so no mappings",
  },
];

const has = (capabilities: bigint, bit: number): boolean => ((capabilities >> BigInt(bit)) & 1n) === 1n;

function missing({ capabilities, uid }: PrivilegeFacts): readonly Needed[] {
  if (capabilities === null) return [];
  return NEEDED.filter(
    ({ bit, or, notForRoot }) =>
      !has(capabilities, bit) && !(or !== undefined && has(capabilities, or)) && !(notForRoot && uid === 0),
  );
}

function judgeUser({ uid }: PrivilegeFacts): Check {
  if (uid === 0) return check("user", "ok", "root", { data: { uid } });
  return check("user", "fail", `uid ${uid}: \`run\` needs root; analyse and import do not`, {
    fix: "sudo mrm-trace run",
    data: { uid },
  });
}

function judgeCapabilities(facts: PrivilegeFacts): Check[] {
  if (facts.capabilities === null) {
    return [check("capabilities", "warn", "/proc/self/status does not say them", { fix: "mount -t proc proc /proc" })];
  }
  const lacking = missing(facts);
  const data = { effective: `0x${facts.capabilities.toString(16)}`, missing: lacking.map(({ name }) => name) };
  if (lacking.length === 0) return [check("capabilities", "ok", NEEDED.map(({ name }) => name).join(", "), { data })];
  return lacking.map(({ name, cost, status }) =>
    check(name, status, `missing: ${cost}`, {
      fix:
        facts.uid === 0
          ? `docker run --cap-add=${name.slice(4)} ..., or AmbientCapabilities=${name} in its unit`
          : "sudo mrm-trace run",
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
  if (capabilities !== null && (has(capabilities, 38) || has(capabilities, CAP_SYS_ADMIN))) {
    return check("perf_event_paranoid", "ok", `${level}: does not bind who has CAP_PERFMON`, { data });
  }
  if (level <= 0)
    return check("perf_event_paranoid", "ok", `${level}: events of whole CPUs are allowed to all`, { data });
  return check(
    "perf_event_paranoid",
    "fail",
    `${level}: without CAP_PERFMON no event may cover a CPU: no watches, no faults`,
    {
      fix: "sudo mrm-trace run (or for all users: sudo sysctl kernel.perf_event_paranoid=-1)",
      data,
    },
  );
}

export function judgePrivileges(facts: PrivilegeFacts): Check[] {
  return [judgeUser(facts), ...judgeCapabilities(facts), judgeNamespaces(facts), judgeParanoid(facts)];
}
