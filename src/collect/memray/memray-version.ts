/** Whether the Python of a command has memray, asked of that Python itself. */
import { invokingUser, withoutPrivileges } from "../../target/invoking-user.ts";
import { programAnswer } from "../../target/program-answer.ts";

const ASK = "import memray; print(memray.__version__)";
const PATIENCE_MS = 15_000;

export type MemrayVersion =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly reason: string };

/** Asks `interpreter`, with the rights that the target will have. */
export async function memrayVersion(interpreter: string): Promise<MemrayVersion> {
  const user = invokingUser();
  try {
    const { exitCode, stdout, stderr } = await programAnswer([...withoutPrivileges(user), interpreter, "-c", ASK], {
      patienceMs: PATIENCE_MS,
      env: { ...process.env, ...user?.environment },
    });
    const version = /^\d+\.\d+[^\s]*/.exec(stdout.trim())?.[0];
    if (exitCode === 0 && version !== undefined) return { ok: true, version };
    return { ok: false, reason: stderr.trim().split("\n").at(-1) || `${interpreter} gave no answer` };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
