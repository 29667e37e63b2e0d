/** Ends this process when the one that started it is gone: a killed tracer cannot end its demo itself. */

const POLL_MS = 200;
/** Environment variable with the pid of the tracer, which need not be our parent and may be gone before we look. */
export const TRACER_PID = "MRM_TRACE_TRACER_PID";

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    // Not allowed to signal it: it belongs to root and lives.
    return cause instanceof Error && "code" in cause && cause.code === "EPERM";
  }
}

/**
 * Watches the parent and the tracer.
 * A poll and no PR_SET_PDEATHSIG: that one fires when the *thread* that forked us ends, and is cleared by changes of user.
 */
export function endWithParent(env: NodeJS.ProcessEnv = process.env): void {
  const parent = process.ppid;
  const tracer = Number(env[TRACER_PID] ?? parent);
  const timer = setInterval(() => {
    // Nothing of ours is worth a clean end, and a decode that runs in another thread would delay one.
    if (process.ppid !== parent || !exists(tracer)) process.kill(process.pid, "SIGKILL");
  }, POLL_MS);
  timer.unref();
}
