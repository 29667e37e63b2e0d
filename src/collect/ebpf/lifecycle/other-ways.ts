/** Ways by which the bytes of a process are read and written past its mappings, where no watch sees it. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { formatCount } from "../../../units.ts";

/** How often each was opened, or used. */
export interface OtherWays {
  /** Files that were opened with O_DIRECT. */
  readonly direct_opens: number;
  /** Times that buffers were registered with io_uring. */
  readonly buffer_registrations: number;
  /** Calls of vmsplice. */
  readonly splices: number;
  /** Calls of process_vm_readv and process_vm_writev. */
  readonly process_copies: number;
}

const O_DIRECT = process.arch === "arm64" ? 0o200000 : 0o40000;

/** What one file that is open tells of itself in /proc. */
function waysOfFile(text: string): Pick<OtherWays, "direct_opens" | "buffer_registrations"> {
  const flags = Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(text)?.[1] ?? "0", 8);
  const buffers = Number(/^UserBufs:\s*(\d+)$/m.exec(text)?.[1] ?? 0);
  return { direct_opens: (flags & O_DIRECT) !== 0 ? 1 : 0, buffer_registrations: buffers > 0 ? 1 : 0 };
}

/** Files on a disk, and rings; there may be thousands of sockets. */
const isTelling = (path: string): boolean => path.startsWith("/") || path === "anon_inode:[io_uring]";

/** The ways that a process had open before anybody looked. @param proc where /proc is */
export function waysOpen(pid: number, proc = "/proc"): Pick<OtherWays, "direct_opens" | "buffer_registrations"> {
  const sum = { direct_opens: 0, buffer_registrations: 0 };
  let files: readonly string[] = [];
  try {
    files = readdirSync(`${proc}/${pid}/fd`);
  } catch {
    // It has ended, or is not ours to ask.
  }
  for (const file of files) {
    try {
      if (!isTelling(readlinkSync(`${proc}/${pid}/fd/${file}`))) continue;
      const ways = waysOfFile(readFileSync(`${proc}/${pid}/fdinfo/${file}`, "utf8"));
      sum.direct_opens += ways.direct_opens;
      sum.buffer_registrations += ways.buffer_registrations;
    } catch {
      // It was closed meanwhile.
    }
  }
  return sum;
}

/** @param count of a counter of the programs, which count from when they are attached */
export function otherWays(count: (way: keyof OtherWays) => number) {
  const open = { direct_opens: 0, buffer_registrations: 0 };
  return {
    /** Takes in what a process that was there already has open. */
    lookAt(pid: number): void {
      const { direct_opens, buffer_registrations } = waysOpen(pid);
      open.direct_opens += direct_opens;
      open.buffer_registrations += buffer_registrations;
    },
    seen: (): OtherWays => ({
      direct_opens: open.direct_opens + count("direct_opens"),
      buffer_registrations: open.buffer_registrations + count("buffer_registrations"),
      splices: count("splices"),
      process_copies: count("process_copies"),
    }),
  };
}

/** What a reader must know of them. */
export function otherWaysWarning(ways: OtherWays): string[] {
  const said = (
    [
      [ways.direct_opens, "files opened with O_DIRECT"],
      [ways.buffer_registrations, "registrations of buffers with io_uring"],
      [ways.splices, "calls of vmsplice"],
      [ways.process_copies, "copies between processes (process_vm_readv, process_vm_writev)"],
    ] as const
  ).flatMap(([count, what]) => (count > 0 ? [`${what}: ${formatCount(count)}`] : []));
  if (said.length === 0) return [];
  return [
    `bytes went past the mappings, where no watch sees it (${said.join("; ")}): what was read and written so is in no figure, and times from and to a write are of the other writes`,
  ];
}
