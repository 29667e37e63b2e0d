/** A command held before its exec, as a run launches it, for tests of whole collectors. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Target } from "../../../src/collect/collector.ts";
import { lineReader } from "../../fixtures/line-reader.ts";

export interface HeldTarget extends AsyncDisposable {
  readonly target: Target;
  release(): void;
  /** To the command's stdin. */
  write(text: string): void;
  kill(): Promise<void>;
  /** First line that the command prints from here on, empty where it prints no more. */
  line(): Promise<string>;
  /** Ends the command's stdin and waits for its end. */
  finish(): Promise<number>;
}

export function holdTarget(command: readonly string[]): HeldTarget {
  const hold = 'read -r go || exit 125; exec "$@"';
  const child = Bun.spawn(["/bin/sh", "-c", hold, "sh", ...command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const nextLine = lineReader(child.stdout);
  function write(text: string) {
    child.stdin.write(text);
    child.stdin.flush();
  }
  return {
    target: { pid: child.pid, command, held: true },
    release: () => write("go\n"),
    write,
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    line: async () => (await nextLine()) ?? "",
    async finish() {
      child.stdin.end();
      return await child.exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** What this process holds: open files by kind, and bytes mapped from the kernel. */
export interface Held {
  readonly fds: number;
  /** Maps, programs, links and events of BPF and perf. */
  readonly kernelObjects: readonly string[];
  readonly kernelMappings: number;
}

export function heldNow(): Held {
  const links = readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return []; // The folder's own, closed by now.
    }
  });
  const kernel = /anon_inode:(?:bpf|\[perf_event\])|btf/;
  return {
    fds: links.length,
    kernelObjects: links.filter((link) => kernel.test(link)),
    kernelMappings: readFileSync("/proc/self/maps", "utf8")
      .split("\n")
      .filter((line) => kernel.test(line)).length,
  };
}

const SETTLED_READINGS = 10;
const READING_MS = 20;

/** The same once it has not changed for a while: the pipes of a child that has ended are closed when they are collected. */
export async function heldSettled(): Promise<Held> {
  Bun.gc(true);
  let last = heldNow();
  for (let same = 0; same < SETTLED_READINGS; ) {
    await Bun.sleep(READING_MS);
    const now = heldNow();
    same = Bun.deepEquals(now, last) ? same + 1 : 0;
    last = now;
  }
  return last;
}
