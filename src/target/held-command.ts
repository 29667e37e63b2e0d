/** Launches a command that is held before its exec, without our privileges, in a way that ends well whoever dies first. */
import { accessSync, closeSync, constants, statSync, writeSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { Subprocess } from "bun";
import { MrmTraceError } from "../errors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { invokingUser, withoutPrivileges } from "./invoking-user.ts";

export interface Launched extends Disposable {
  readonly pid: number;
  readonly command: readonly string[];
  /** Lets the command run: exec replaces the shell that waited. */
  release(): void;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when the process has ended. */
  readonly ended: Promise<{
    readonly exit_code: number | null;
    readonly signal: string | null;
    /** When it was let go, in ns of CLOCK_MONOTONIC; null where it ended before. */
    readonly released_ns: bigint | null;
    /** When it was noticed, in ns of CLOCK_MONOTONIC. */
    readonly ended_ns: bigint;
  }>;
}

export interface LaunchOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Where the command's stdout goes: 1, 2 where stdout belongs to `--json`, or the descriptor of an open file. */
  readonly stdoutFd: number;
  /** 2 by default. */
  readonly stderrFd?: number;
  /** False gives it an empty stdin instead of ours. */
  readonly ownStdin?: boolean;
  readonly cwd?: string;
  /** An open file that it inherits as `EXTRA_FD`. */
  readonly extraFd?: number;
}

/** The descriptor by which a command finds its extra file: behind the one that held it. */
export const EXTRA_FD = 4;

/**
 * Path of the program that a command names, as execvp would find it.
 * @throws MrmTraceError target when it is absent or not executable
 */
export function findProgram(name: string): string {
  const places = name.includes("/") || isAbsolute(name) ? [name] : (process.env.PATH ?? "").split(delimiter);
  const candidates = name.includes("/") ? [name] : places.map((folder) => join(folder, name));
  let found: string | null = null;
  for (const path of candidates) {
    try {
      const status = statSync(path);
      if (status.isDirectory() && name.includes("/")) {
        const hint = "name the program in it: mrm-trace run -- FOLDER/PROGRAM";
        throw new MrmTraceError("target", `"${name}" is a folder`, hint);
      }
      if (!status.isFile()) continue;
      found = path;
      accessSync(path, constants.X_OK);
      // To root every file looks executable; exec refuses one that nobody may execute.
      if (status.mode & 0o111) return path;
    } catch (error) {
      if (error instanceof MrmTraceError) throw error;
      // Not there, or not ours to run: the next folder may have it.
    }
  }
  throw new MrmTraceError(
    "target",
    found === null ? `command not found: "${name}"` : `command is not executable: "${found}"`,
    found === null ? "check the spelling and PATH, or give the full path after --" : `chmod +x ${found}`,
  );
}

/**
 * The shell that waits for a byte on fd 3; when the tracer dies first, the pipe ends and nothing was run. While it stands
 * in the command line of a process, that process is held.
 */
export const HOLD = 'read -r go <&3 || exit 125; exec 3<&-; exec "$@"';

/**
 * Starts `command` held before its exec; `release` lets it go.
 * @throws MrmTraceError target
 */
export function launchHeld(command: readonly string[], options: LaunchOptions): Launched {
  const program = findProgram(command[0] ?? "");
  const user = invokingUser();
  const argv = [...withoutPrivileges(user), "/bin/sh", "-c", HOLD, "sh", program, ...command.slice(1)];
  const child: Subprocess = Bun.spawn(argv, {
    stdio: [
      options.ownStdin === false ? "ignore" : "inherit",
      options.stdoutFd,
      options.stderrFd ?? 2,
      "pipe",
      ...(options.extraFd === undefined ? [] : [options.extraFd]),
    ],
    env: { ...process.env, ...user?.environment, ...options.env },
    ...(options.cwd ? { cwd: options.cwd } : {}),
  });
  const pipe = child.stdio[3];
  if (typeof pipe !== "number") {
    child.kill("SIGKILL");
    throw new MrmTraceError("failure", "the pipe that holds the command could not be made", "run again");
  }
  let held = true;
  let released_ns: bigint | null = null;
  /** Lets the shell read what was written, or the end of the pipe. */
  const open = (): void => {
    held = false;
    closeSync(pipe);
  };
  return {
    pid: child.pid,
    command,
    release() {
      if (!held) return;
      try {
        const now_ns = monotonicNs();
        writeSync(pipe, "go\n");
        released_ns = now_ns;
      } catch (error) {
        // It died while it was held: `ended` says how.
        if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
      } finally {
        open();
      }
    },
    signal(signal) {
      child.kill(signal);
    },
    ended: child.exited.then(() => ({
      released_ns,
      ended_ns: monotonicNs(),
      exit_code: child.exitCode,
      signal: child.signalCode === null ? null : String(child.signalCode),
    })),
    [Symbol.dispose]() {
      if (!held) return;
      child.kill("SIGKILL");
      open();
    },
  };
}
