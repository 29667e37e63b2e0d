/** The settings of threads that a slowdown must be read beside. */

const VARIABLES = /^(OMP|GOMP|KMP|GGML|NUMEXPR)_|^(MKL|OPENBLAS|VECLIB)_NUM_THREADS$/;

/** Variables that set how many threads there are and how they wait. */
export function threadEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const found = Object.entries(env).filter(([name]) => VARIABLES.test(name));
  return Object.fromEntries(found.map(([name, value]) => [name, value ?? ""]).sort());
}

/** Threads that a command line of llama.cpp's programs asks for, the last of them; null where it does not. */
export function engineThreads(command: readonly string[]): number | null {
  const said = command.map((word, i) => {
    const [, joined] = /^--threads=(\d{1,5})$/.exec(word) ?? [];
    return joined ?? (word === "-t" || word === "--threads" ? command[i + 1] : undefined);
  });
  const last = said.findLast((one) => one !== undefined && /^\d{1,5}$/.test(one));
  return last === undefined ? null : Number(last);
}

/**
 * A barrier that spins waits a whole time slice for each thread that has no CPU: with as many threads as CPUs and a
 * tracer beside them a decode may be 60 times slower, and the tracer is not why. Null where that cannot be.
 */
export function spinningWarning(openMp: boolean, cpus: number, env: NodeJS.ProcessEnv = process.env): string | null {
  const threads = Number(env.OMP_NUM_THREADS ?? Number.POSITIVE_INFINITY);
  if (!openMp || threads <= 1 || threads < cpus || env.OMP_WAIT_POLICY?.toLowerCase() === "passive") return null;
  return "the target uses OpenMP with barriers that spin: a slowdown may be theirs, set OMP_WAIT_POLICY=passive or OMP_NUM_THREADS=1";
}
