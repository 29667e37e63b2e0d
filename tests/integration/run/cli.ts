/** The command line as a user starts it, for the integration tests of runs. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const CLI = new URL("../../../src/cli.ts", import.meta.url).pathname;
/** A short look at the machine, so that tests are quick; what it says is not tested here. */
export const QUICK = ["--baseline", "100ms"];

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly pid: number;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when stderr or stdout holds the text. @throws Error when both end without it */
  said(text: string): Promise<void>;
  /** The exit code, even while children still hold the output. */
  readonly exited: Promise<number>;
  readonly ended: Promise<Ended>;
}

/** How long a run that a test left behind gets to end by itself. */
const GRACE_MS = 15_000;
const running = new Set<{ readonly signal: (signal: NodeJS.Signals) => void; readonly exited: Promise<number> }>();

/** For `afterEach`: a test that fails half way must not leave a tracer, with its registers, or a target to the others. */
export async function endLeftRuns(): Promise<void> {
  for (const run of running) {
    run.signal("SIGTERM");
    const ended = await Promise.race([run.exited, Bun.sleep(GRACE_MS).then(() => null)]);
    if (ended === null) run.signal("SIGKILL");
  }
}

export function outputFolder(): string {
  return mkdtempSync(join(tmpdir(), "mrm-run-"));
}

/** Starts `mrm-trace ARGS`, with `prefix` words before it (such as setpriv). */
export function startCli(
  args: readonly string[],
  options: { prefix?: readonly string[]; env?: Record<string, string> } = {},
): Started {
  const child = Bun.spawn([...(options.prefix ?? []), process.execPath, CLI, ...args], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1", ...options.env },
  });
  const texts = { stdout: "", stderr: "" };
  const holds = (text: string): boolean => texts.stdout.includes(text) || texts.stderr.includes(text);
  const waiting: { text: string; done: () => void }[] = [];
  const read = async (name: "stdout" | "stderr"): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of child[name]) {
      texts[name] += decoder.decode(chunk, { stream: true });
      for (const one of waiting) if (holds(one.text)) one.done();
    }
  };
  const reading = Promise.all([read("stdout"), read("stderr")]);
  const signal = (name: NodeJS.Signals): void => child.kill(name);
  const left = { signal, exited: child.exited };
  running.add(left);
  child.exited.then(() => running.delete(left));
  return {
    pid: child.pid,
    signal,
    async said(text) {
      if (holds(text)) return;
      const heard = new Promise<void>((done) => {
        waiting.push({ text, done });
      });
      await Promise.race([heard, reading]);
      if (!holds(text)) throw new Error(`it ended and never said "${text}": ${texts.stderr}`);
    },
    exited: child.exited,
    ended: (async () => {
      const exitCode = await child.exited;
      await reading;
      return { exitCode, ...texts };
    })(),
  };
}

export async function runCli(args: readonly string[], options: Parameters<typeof startCli>[1] = {}): Promise<Ended> {
  return await startCli(args, options).ended;
}

/** The one object on stdout; throws where there is more or less than one. */
export function jsonOf(ended: Ended): Record<string, unknown> {
  return JSON.parse(ended.stdout) as Record<string, unknown>;
}
