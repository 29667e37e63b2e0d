/** Ends a child when we are killed and cannot end it ourselves. */

/** Waits for the end of its stdin: a line means that all is well, none that we died. */
const SCRIPT = 'read -r ok && exit 0; kill -TERM "$1"; sleep 5; kill -KILL "$1"';

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
    child.stdin.write("ok\n");
    child.stdin.end();
  };
  return { release, [Symbol.dispose]: release };
}
