/** A run in a process of its own: the tracer's memory and compiled code of one run do not count in the next. */
import { join } from "node:path";
import type { StopSignal } from "../record/signals.ts";
import { RUNTIME, RUNTIME_ENV } from "../runtime.ts";
import type { FailureJson } from "../schema/run-json.ts";
import type { OneRunRequest } from "./run-request.ts";

export interface ChildEnd {
  readonly exit_code: number;
  /** What went wrong where there is no report of a run. */
  readonly error: FailureJson["error"] | null;
  /** The last lines that it and its target wrote on stderr. */
  readonly tail: string;
}

export interface Child {
  signal(signal: StopSignal): void;
  readonly ended: Promise<ChildEnd>;
}

const TAIL_CHARACTERS = 2000;

/** The error that a child printed in place of a report. */
function failureOf(stdout: string): FailureJson["error"] | null {
  try {
    const { error } = JSON.parse(stdout) as Partial<FailureJson>;
    return error ?? null;
  } catch {
    return null;
  }
}

/**
 * Starts one run. It ends with us: a second signal that ends us at once ends it too.
 * @param echo gets what the run and its target write on stderr, as it comes
 */
export function startChild(request: OneRunRequest, echo: (text: string) => void): Child {
  const child = Bun.spawn([...RUNTIME, join(import.meta.dir, "one-run.ts")], {
    env: { ...process.env, ...RUNTIME_ENV },
    stdin: Buffer.from(JSON.stringify(request)),
    stdout: "pipe",
    stderr: "pipe",
  });
  const kill = (): void => child.kill("SIGKILL");
  process.once("exit", kill);
  const collect = async (): Promise<string> => {
    const decoder = new TextDecoder();
    let tail = "";
    for await (const chunk of child.stderr) {
      const text = decoder.decode(chunk, { stream: true });
      echo(text);
      tail = (tail + text).slice(-TAIL_CHARACTERS);
    }
    return tail;
  };
  const ended = Promise.all([new Response(child.stdout).text(), collect(), child.exited]).then(
    ([stdout, tail, exit_code]): ChildEnd => {
      process.off("exit", kill);
      return { exit_code, error: failureOf(stdout), tail: tail.trim() };
    },
  );
  return { signal: (signal) => child.kill(signal), ended };
}
