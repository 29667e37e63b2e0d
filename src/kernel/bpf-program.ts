/** A loaded BPF program: ways to attach it, each a link that detaches when disposed; and what it cost so far. */
import { refusal } from "./bpf-error.ts";
import { addressOf, cString, stableBytes } from "./foreign-memory.ts";
import { type Handle, handle, libbpf } from "./libbpf.ts";
import { errno, libc, ownFd } from "./libc.ts";

export interface UprobePlace {
  readonly path: string;
  /** Offset in the file. */
  readonly offset: bigint;
  /** -1 for every process that maps the file. */
  readonly pid: number;
  readonly retprobe?: boolean;
  readonly cookie?: bigint;
}

export interface ProgramCost {
  readonly run_ns: bigint;
  readonly run_count: bigint;
  readonly recursion_misses: bigint;
}

export interface BpfProgram {
  readonly name: string;
  /** Where it attaches, in libbpf's words, such as tp/syscalls/sys_enter_mmap. */
  readonly section: string;
  readonly fd: number;
  /** Attaches where its section name says. */
  attach(): Disposable;
  attachUprobe(place: UprobePlace): Disposable;
  /** Attaches to a perf event and enables it; the link does not own the event's fd. */
  attachPerfEvent(perfFd: number, cookie?: bigint): Disposable;
  /** Run time and count; zero unless statistics are on (`enableBpfStats`). */
  cost(): ProgramCost;
}

const F_DUPFD_CLOEXEC = 1030;
const UPROBE_OPTS_BYTES = 40;
const PERF_OPTS_BYTES = 16;
/** struct bpf_prog_info (include/uapi/linux/bpf.h): run_time_ns at 192, run_cnt at 200, recursion_misses at 208. */
const INFO_BYTES = 232;

/** Wraps a program of a loaded object. */
export function openProgram(program: Handle, name: string): BpfProgram {
  const lib = libbpf();
  const fd = lib.bpf_program__fd(program);
  const owned = (returned: Handle | bigint | null, what: string): Disposable => {
    const link = handle(returned);
    if (link === null) throw refusal(`attaching ${name} to ${what}`, errno(), "");
    let attached = true;
    return {
      [Symbol.dispose]() {
        if (!attached) return;
        attached = false;
        lib.bpf_link__destroy(link);
      },
    };
  };
  return {
    name,
    section: String(lib.bpf_program__section_name(program)),
    fd,
    attach: () => owned(lib.bpf_program__attach(program), "the place that its section names"),
    attachUprobe(place) {
      const opts = stableBytes(UPROBE_OPTS_BYTES);
      const view = new DataView(opts.buffer);
      view.setBigUint64(0, BigInt(UPROBE_OPTS_BYTES), true);
      view.setBigUint64(16, place.cookie ?? 0n, true);
      view.setUint8(24, place.retprobe ? 1 : 0);
      const link = lib.bpf_program__attach_uprobe_opts(
        program,
        place.pid,
        cString(place.path),
        place.offset,
        addressOf(opts),
      );
      return owned(link, `${place.path} at offset ${place.offset}`);
    },
    attachPerfEvent(perfFd, cookie = 0n) {
      const opts = stableBytes(PERF_OPTS_BYTES);
      const view = new DataView(opts.buffer);
      view.setBigUint64(0, BigInt(PERF_OPTS_BYTES), true);
      view.setBigUint64(8, cookie, true);
      // The link closes the fd that it was given: it gets one of its own.
      const fdOfLink = libc.fcntl(perfFd, F_DUPFD_CLOEXEC, 0);
      const link = lib.bpf_program__attach_perf_event_opts(program, fdOfLink, addressOf(opts));
      if (handle(link) === null) libc.close(fdOfLink);
      return owned(link, `perf event fd ${perfFd}`);
    },
    cost() {
      const info = stableBytes(INFO_BYTES);
      const length = stableBytes(8);
      const size = new DataView(length.buffer);
      size.setUint32(0, INFO_BYTES, true);
      lib.bpf_obj_get_info_by_fd(fd, addressOf(info), addressOf(length));
      const view = new DataView(info.buffer);
      return {
        run_ns: view.getBigUint64(192, true),
        run_count: view.getBigUint64(200, true),
        recursion_misses: view.getBigUint64(208, true),
      };
    },
  };
}

/** Switches run statistics of BPF programs on until disposed (about 50 ns per run); null where the kernel refuses. */
export function enableBpfStats(): Disposable | null {
  const lib = libbpf();
  const fd = lib.bpf_enable_stats(0);
  return fd < 0 ? null : ownFd(fd);
}
