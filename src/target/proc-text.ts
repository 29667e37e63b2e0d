/** What the files of /proc say: pure parsers that give null for text they do not understand (formats: proc(5), psi.rst). */

const U64_MAX = 2n ** 64n - 1n;

/** Decimal digits as a u64, else null. */
export function parseU64(text: string | undefined): bigint | null {
  if (text === undefined || !/^\d{1,20}$/.test(text)) return null;
  const value = BigInt(text);
  return value <= U64_MAX ? value : null;
}

function parseU32(text: string | undefined): number | null {
  const value = parseU64(text);
  return value !== null && value <= 0xffffffffn ? Number(value) : null;
}

/** The figure of a line such as `VmRSS:  123 kB` or `read_bytes: 5`, scaled by its unit to bytes; null without such a line. */
export function parseField(text: string, name: string): bigint | null {
  for (let position = text.indexOf(`${name}:`); position >= 0; position = text.indexOf(`${name}:`, position + 1)) {
    if (position > 0 && text.charCodeAt(position - 1) !== 10) continue;
    const end = text.indexOf("\n", position);
    const line = text.slice(position + name.length + 1, end < 0 ? undefined : end).trim();
    const [digits, unit, rest] = line.split(/\s+/);
    const value = parseU64(digits);
    if (value === null || rest !== undefined) return null;
    if (unit === undefined) return value;
    return unit === "kB" && value <= U64_MAX / 1024n ? value * 1024n : null;
  }
  return null;
}

export interface ProcStat {
  /** One letter: R S D Z T t X I. */
  readonly state: string;
  readonly ppid: number;
  readonly process_group: number;
  readonly minor_faults: bigint;
  readonly major_faults: bigint;
  /** Clock ticks, see TICK_NS. */
  readonly user_ticks: bigint;
  readonly system_ticks: bigint;
  /** Of both, those of children that have ended and were waited for. */
  readonly reaped_ticks: bigint;
  readonly threads: number;
  /** Ticks since boot: with the pid it names one process for ever. */
  readonly start_ticks: bigint;
}

/** ns per clock tick: USER_HZ is 100 in the ABI of every architecture that we support. */
export const TICK_NS = 10_000_000n;

/** /proc/PID/stat; the name of the process may hold spaces and brackets, so fields count from the last bracket. */
export function parseStat(text: string): ProcStat | null {
  const close = text.lastIndexOf(")");
  if (close < 0) return null;
  const fields = text
    .slice(close + 1)
    .trim()
    .split(/\s+/);
  const state = fields[0];
  const ppid = parseU32(fields[1]);
  const group = parseU32(fields[2]);
  const minor = parseU64(fields[7]);
  const major = parseU64(fields[9]);
  const user = parseU64(fields[11]);
  const system = parseU64(fields[12]);
  const reapedUser = parseU64(fields[13]);
  const reapedSystem = parseU64(fields[14]);
  const threads = parseU32(fields[17]);
  const start = parseU64(fields[19]);
  if (state === undefined || !/^[A-Za-z]$/.test(state) || ppid === null || group === null) return null;
  if (threads === null || start === null) return null;
  if (minor === null || major === null || user === null || system === null) return null;
  if (reapedUser === null || reapedSystem === null) return null;
  if (user > U64_MAX / TICK_NS || system > U64_MAX / TICK_NS) return null;
  return {
    state,
    ppid,
    process_group: group,
    minor_faults: minor,
    major_faults: major,
    user_ticks: user,
    system_ticks: system,
    reaped_ticks: reapedUser + reapedSystem,
    threads,
    start_ticks: start,
  };
}

export interface ProcMemory {
  readonly rss_bytes: bigint;
  readonly rss_anon_bytes: bigint;
  readonly rss_file_bytes: bigint;
  readonly rss_shmem_bytes: bigint;
  /** Most that was resident since the last exec; null where there is no address space. */
  readonly rss_peak_bytes: bigint | null;
  readonly vms_bytes: bigint;
}

export const NO_MEMORY: ProcMemory = {
  rss_bytes: 0n,
  rss_anon_bytes: 0n,
  rss_file_bytes: 0n,
  rss_shmem_bytes: 0n,
  rss_peak_bytes: null,
  vms_bytes: 0n,
};

/** Memory lines of /proc/PID/status; a process without an address space (zombie, kernel thread) has none and gets zeros. */
export function parseStatusMemory(text: string): ProcMemory | null {
  if (!text.includes("\nVm")) return text.includes("\nPid:") ? NO_MEMORY : null;
  const vms = parseField(text, "VmSize");
  const rss = parseField(text, "VmRSS");
  const anon = parseField(text, "RssAnon");
  const file = parseField(text, "RssFile");
  const shmem = parseField(text, "RssShmem");
  if (vms === null || rss === null || anon === null || file === null || shmem === null) return null;
  return {
    vms_bytes: vms,
    rss_bytes: rss,
    rss_anon_bytes: anon,
    rss_file_bytes: file,
    rss_shmem_bytes: shmem,
    rss_peak_bytes: parseField(text, "VmHWM"),
  };
}

/** `some` total of a file of /proc/pressure in ns; null where it has none. */
export function parsePressureSomeNs(text: string): bigint | null {
  const total = /^some [^\n]*\btotal=(\d{1,20})\s*$/m.exec(text)?.[1];
  const micros = parseU64(total);
  return micros !== null && micros <= U64_MAX / 1000n ? micros * 1000n : null;
}

/** Time that the host took from all CPUs, in ns: the eighth figure of the first line of /proc/stat (proc_stat(5)). */
export function parseStealNs(text: string): bigint | null {
  const ticks = parseU64(/^cpu +(?:\d{1,20} ){7}(\d{1,20})\b/.exec(text)?.[1]);
  return ticks !== null && ticks <= U64_MAX / TICK_NS ? ticks * TICK_NS : null;
}

/**
 * CPU time of everything that ran, on all CPUs, in ns: user, nice, system, irq and softirq of the first line of /proc/stat
 * (proc_stat(5)); what guests used is in the first two.
 */
export function parseBusyNs(text: string): bigint | null {
  const fields = /^cpu +((?:\d{1,20} ){7})/.exec(text)?.[1]?.trim().split(" ").map(parseU64);
  if (fields === undefined) return null;
  let ticks = 0n;
  for (const i of [0, 1, 2, 5, 6]) {
    const value = fields[i];
    if (value === null || value === undefined) return null;
    ticks += value;
  }
  return ticks <= U64_MAX / TICK_NS ? ticks * TICK_NS : null;
}

/**
 * Time that a thread ran, and that it could run and waited for a CPU, in ns: the first two figures of
 * /proc/PID/task/TID/schedstat (sched-stats.rst). Null where the kernel keeps no such account, which it says with a thread that
 * never ran.
 */
export function parseSchedstat(text: string): { readonly ran_ns: bigint; readonly waited_ns: bigint } | null {
  const [ran_ns, waited_ns, slices] = text.trim().split(" ").map(parseU64);
  if (ran_ns == null || waited_ns == null || (ran_ns === 0n && slices === 0n)) return null;
  return { ran_ns, waited_ns };
}

/** Pids of /proc/PID/task/TID/children; words that are no pid are left out and counted. */
export function parseChildren(text: string): { readonly pids: number[]; readonly malformed: number } {
  const pids: number[] = [];
  let malformed = 0;
  for (const word of text.split(/\s+/)) {
    if (word === "") continue;
    const pid = parseU32(word);
    if (pid === null || pid === 0 || pid > 0x7fffffff) malformed += 1;
    else pids.push(pid);
  }
  return { pids, malformed };
}

/**
 * True for a process that is gone, or waits for its parent to take note of its end. One whose first thread has ended
 * while others run has the state of that one, and is not over.
 */
export function isOver({ state, threads }: Pick<ProcStat, "state" | "threads">): boolean {
  return state === "X" || (state === "Z" && threads <= 1);
}
