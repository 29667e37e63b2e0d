/** What a program says when it is asked: as much as an answer has, in bounded time, as it runs with the rights of a user and may be anybody's. */

export interface ProgramAnswer {
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** No version is longer. */
const MOST_BYTES = 1 << 16;

/** Collects the begin of a stream; `done` once there is no more to come of it. */
function beginOf(stream: ReadableStream<Uint8Array>, tooMuch: () => void) {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const read = async (): Promise<void> => {
    for await (const chunk of stream) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MOST_BYTES) return tooMuch();
    }
  };
  return {
    done: read().catch(() => {
      // What came so far is its answer.
    }),
    text: () => Buffer.concat(chunks).toString("utf8", 0, Math.min(bytes, MOST_BYTES)),
  };
}

/**
 * Runs a program to its end, and kills one that takes longer or says more than an answer has.
 * @throws Error where it cannot be started
 */
export async function programAnswer(
  argv: readonly string[],
  { patienceMs, env }: { readonly patienceMs: number; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<ProgramAnswer> {
  const child = Bun.spawn([...argv], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: patienceMs,
    killSignal: "SIGKILL",
    env: { ...env },
  });
  const kill = (): void => child.kill("SIGKILL");
  const [out, complaint] = [beginOf(child.stdout, kill), beginOf(child.stderr, kill)];
  const all = Promise.all([out.done, complaint.done, child.exited]);
  // A child of it may hold the pipes open after its end.
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const timer = setTimeout(end, patienceMs);
  await Promise.race([all, over]);
  clearTimeout(timer);
  return { exitCode: child.exitCode, stdout: out.text(), stderr: complaint.text() };
}
