/** Whether the Python of a command has memray, asked of that Python itself. */
import { invokingUser, withoutPrivileges } from "../../target/invoking-user.ts";

const ASK = "import memray; print(memray.__version__)";
const PATIENCE_MS = 15_000;

export type MemrayVersion =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly reason: string };

/** Asks `interpreter`, with the rights that the target will have. */
export async function memrayVersion(interpreter: string): Promise<MemrayVersion> {
  const user = invokingUser();
  try {
    const child = Bun.spawn([...withoutPrivileges(user), interpreter, "-c", ASK], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
      env: { ...process.env, ...user?.environment },
    });
    const [out, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const version = /^\d+\.\d+[^\s]*/.exec(out.trim())?.[0];
    if ((await child.exited) === 0 && version !== undefined) return { ok: true, version };
    return { ok: false, reason: complaint.trim().split("\n").at(-1) || `${interpreter} gave no answer` };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
