/** The user who called sudo: commands run with their rights, and files that are made for them belong to them. */
import { capabilitiesPassedOn } from "./capabilities.ts";

export interface InvokingUser {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  /** What an environment says of whose it is; without what is left out of the one of root. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** All groups of the user. */
  groups(): readonly number[];
}

const users = new Map<string, InvokingUser | null>();

/** The user behind sudo, null when we are not root under sudo, or when root itself called it. */
export function invokingUser(env: NodeJS.ProcessEnv = process.env): InvokingUser | null {
  const uid = Number(env.SUDO_UID);
  const gid = Number(env.SUDO_GID);
  if (process.getuid?.() !== 0 || !Number.isInteger(uid) || !Number.isInteger(gid) || uid <= 0) return null;
  const key = `${uid}:${gid}`;
  const before = users.get(key);
  if (before !== undefined) return before;
  const user = lookUp(uid, gid);
  users.set(key, user);
  return user;
}

/** Null where nobody has this number. */
function lookUp(uid: number, gid: number): InvokingUser | null {
  // getent and not /etc/passwd: users may live in a directory service.
  const [name, , , , , home, shell] = said(["getent", "passwd", String(uid)]).split(":");
  if (!name || !home) return null;
  let groups: readonly number[] | null = null;
  return {
    uid,
    gid,
    home,
    // sudo has named the mailbox of root.
    environment: { HOME: home, USER: name, LOGNAME: name, MAIL: undefined, ...(shell ? { SHELL: shell } : {}) },
    groups() {
      groups ??= [...new Set([gid, ...said(["id", "-G", "--", name]).split(" ").filter(Boolean).map(Number)])];
      return groups;
    },
  };
}

function said(words: readonly string[]): string {
  return Bun.spawnSync([...words])
    .stdout.toString()
    .trim();
}

/** Words to put before a command that must not have our privileges; none where it would have none. */
export function withoutPrivileges(user: InvokingUser | null): string[] {
  if (user !== null) return ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--init-groups", "--"];
  return capabilitiesPassedOn() !== 0n ? ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--"] : [];
}
