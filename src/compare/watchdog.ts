/** Ends a child when we are killed and cannot end it ourselves. */

/**
 * Waits for the end of its stdin: a line means that all is well, none that we died. A terminal sends its signals to all
 * that it started, and this one has to outlive us.
 */
const SCRIPT = 'trap "" INT TERM HUP QUIT; read -r ok && exit 0; kill -TERM "$1"; sleep 5; kill -KILL "$1"';

export interface Watchdog extends Disposable {
  /** Lets it go without harm; also called on disposal. */
  release(): void;
}

/** Guards a process until released. */
export function guard(pid: number): Watchdog {
  const child = Bun.spawn(["/bin/sh", "-c", SCRIPT, "sh", String(pid)], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  });
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    try {
      child.stdin.write("ok\n");
      child.stdin.end();
    } catch {
      // Somebody killed it: what it guards is ended by us.
    }
  };
  return { release, [Symbol.dispose]: release };
}
