/** The user who called sudo: commands run with their rights, and files that are made for them belong to them. */
import { lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface InvokingUser {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** The user behind sudo, null when we are not root under sudo, or when root itself called it. */
export function invokingUser(env: NodeJS.ProcessEnv = process.env): InvokingUser | null {
  const uid = Number(env.SUDO_UID);
  const gid = Number(env.SUDO_GID);
  if (process.getuid?.() !== 0 || !Number.isInteger(uid) || !Number.isInteger(gid) || uid <= 0) return null;
  // getent and not /etc/passwd: users may live in a directory service.
  const entry = Bun.spawnSync(["getent", "passwd", String(uid)])
    .stdout.toString()
    .trim()
    .split(":");
  const home = entry[5];
  return home ? { uid, gid, home } : null;
}

/** Words to put before a command that must not have our privileges; none where nobody stands behind sudo. */
export function withoutPrivileges(user: InvokingUser | null): string[] {
  return user ? ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--init-groups", "--"] : [];
}

/**
 * Gives a file, or a tree that we made, to its user; links are changed, never followed. The folder itself comes last:
 * until then nobody else can put anything into it.
 */
export function giveTo(user: InvokingUser | null, path: string): void {
  if (!user) return;
  if (lstatSync(path).isDirectory()) {
    for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
      lchownSync(join(entry.parentPath, entry.name), user.uid, user.gid);
    }
  }
  lchownSync(path, user.uid, user.gid);
}
