/** A perf that records one process: started and held, let go by its control pipe, and ended within bounded time. */
import { closeSync, readSync, writeSync } from "node:fs";
import { MrmTraceError } from "../../errors.ts";

export interface PerfProcess {
  readonly pid: number;
  /** Ends it: SIGINT, so that it writes what it has, then SIGKILL. @returns what went wrong, or null */
  stop(): Promise<string | null>;
  readonly running: boolean;
}

const READY_MS = 15_000;
const LOOK_MS = 2;
const END_MS = 20_000;
const MESSAGE_BYTES = 4096;

function failure(why: string): MrmTraceError {
  const hint = "check it with: perf record -e page-faults -c 1 -d -- true";
  return new MrmTraceError("environment", `perf could not start: ${why}`, hint);
}

/** True once perf has answered a command; throws nothing while there is no answer. */
function answered(fd: number): boolean {
  try {
    return readSync(fd, new Uint8Array(16)) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return false;
    throw error;
  }
}

/**
 * Starts perf with its events disabled and enables them; after it resolves, no event is missed.
 * If the tracer dies, perf is told to end: its recording stays whole.
 * @throws MrmTraceError environment, with what perf said
 */
export async function startPerf(command: readonly string[]): Promise<PerfProcess> {
  const child = Bun.spawn(["setpriv", "--pdeathsig", "INT", "--", ...command], {
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    env: { ...process.env, LC_ALL: "C" },
  });
  const said = new Response(child.stderr).text().then((text) => text.slice(0, MESSAGE_BYTES).trim());
  const [, , , control, answer] = child.stdio;
  const kill = async (): Promise<string> => {
    child.kill("SIGKILL");
    await child.exited;
    return await said;
  };
  let open = true;
  const close = (): void => {
    for (const pipe of [control, answer]) if (open && typeof pipe === "number") closeSync(pipe);
    open = false;
  };
  if (typeof control !== "number" || typeof answer !== "number") throw failure(`no pipe to it: ${await kill()}`);
  try {
    writeSync(control, "enable\n");
    const until = performance.now() + READY_MS;
    while (!answered(answer)) {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw failure((await said) || `it ended with ${child.signalCode ?? child.exitCode}`);
      }
      if (performance.now() > until) throw failure(`no answer in ${READY_MS / 1000} s: ${await kill()}`);
      await Bun.sleep(LOOK_MS);
    }
  } catch (error) {
    const words = await kill();
    close();
    throw error instanceof MrmTraceError ? error : failure(words || String(error));
  }
  return {
    pid: child.pid,
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    async stop() {
      const asked = child.exitCode === null && child.signalCode === null;
      if (asked) child.kill("SIGINT");
      const ended = await Promise.race([child.exited, Bun.sleep(END_MS).then(() => null)]);
      close();
      if (ended === null) {
        await kill();
        return `perf did not end in ${END_MS / 1000} s and was killed: its last rows may be missing`;
      }
      const words = await said;
      // A perf that was told to end has written everything, and then ends by that signal.
      if (child.exitCode === 0 || (asked && child.signalCode === "SIGINT")) return null;
      const how = child.signalCode === null ? `ended with ${child.exitCode}` : `was ended by ${child.signalCode}`;
      return `perf ${how}${words === "" ? "" : `: ${words}`}`;
    },
  };
}
