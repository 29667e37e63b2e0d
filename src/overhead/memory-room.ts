/** How much memory this process may still take: what the machine has left, and what its control groups allow. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface MemoryRoom {
  readonly bytes: number;
  /** What sets the bound, such as `memory.max of /sys/fs/cgroup/job`. */
  readonly set_by: string;
}

/** Where a version of control groups has its bounds, what is in use, and of that what files hold and could give back. */
interface Version {
  readonly mount: string;
  readonly limits: readonly string[];
  readonly usage: string;
  readonly cached: readonly string[];
}

const V2: Version = {
  mount: "sys/fs/cgroup",
  limits: ["memory.max", "memory.high"],
  usage: "memory.current",
  cached: ["inactive_file", "active_file"],
};
const V1: Version = {
  mount: "sys/fs/cgroup/memory",
  limits: ["memory.limit_in_bytes"],
  usage: "memory.usage_in_bytes",
  cached: ["total_inactive_file", "total_active_file"],
};
/** Version 1 writes no bound as the largest number of pages. */
const NO_LIMIT = 2 ** 60;

function read(path: string): string | null {
  try {
    return readFileSync(path, "latin1").trim();
  } catch {
    // Nothing there says nothing.
    return null;
  }
}

/** A number of bytes; null for `max`, for no bound, and where there is no such file. */
function bytesIn(path: string): number | null {
  const text = read(path);
  const bytes = text !== null && /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return bytes < NO_LIMIT ? bytes : null;
}

/** Sum of some lines of memory.stat. */
function cachedBytes(folder: string, names: readonly string[]): number {
  let sum = 0;
  for (const line of (read(join(folder, "memory.stat")) ?? "").split("\n")) {
    const [name = "", bytes] = line.split(" ");
    if (names.includes(name)) sum += Number(bytes);
  }
  return sum;
}

/** True where what is mounted begins above the group that a namespace shows as the first: no path leads from there to here. */
function isMountedFromAbove(root: string, mount: string): boolean {
  const mounts = (read(join(root, "proc/self/mountinfo")) ?? "").split("\n").map((line) => line.split(" "));
  // Of several at one place the last one is seen.
  return mounts.findLast(([, , , , place]) => place === `/${mount}`)?.[3]?.startsWith("/..") ?? false;
}

/** Groups that are looked through for this process. */
const MOST_GROUPS = 20_000;

/** The folder of the group that has this process; null where it is not found. */
function folderWithUs(top: string): string | null {
  const folders = [top];
  for (let i = 0; i < folders.length && i < MOST_GROUPS; i++) {
    const folder = folders[i] as string;
    if (read(join(folder, "cgroup.procs"))?.split("\n").includes(String(process.pid))) return folder;
    for (const name of listFolders(folder)) folders.push(join(folder, name));
  }
  return null;
}

function listFolders(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    // A group that has gone meanwhile holds nobody.
    return [];
  }
}

/** What a control group and those around it leave. */
function groupRoom(root: string, { mount, limits, usage, cached }: Version, path: string): MemoryRoom[] {
  const top = join(root, mount);
  const group = isMountedFromAbove(root, mount) ? folderWithUs(top) : join(top, path);
  const rooms: MemoryRoom[] = [];
  // Inside a container the path may be that of another tree: what is mounted is then the group itself.
  const first = group !== null && existsSync(group) ? group : top;
  for (let folder = first; folder.startsWith(top); folder = dirname(folder)) {
    const used = Math.max(0, (bytesIn(join(folder, usage)) ?? 0) - cachedBytes(folder, cached));
    for (const name of limits) {
      const limit = bytesIn(join(folder, name));
      if (limit !== null) rooms.push({ bytes: Math.max(0, limit - used), set_by: `${name} of ${folder}` });
    }
  }
  return rooms;
}

/** The path of this process in the tree of a version; null where it is in none. */
function groupPath(groups: string, isOf: (hierarchy: string, controllers: string) => boolean): string | null {
  for (const line of groups.split("\n")) {
    const [hierarchy = "", controllers = "", ...path] = line.split(":");
    if (isOf(hierarchy, controllers)) return path.join(":");
  }
  return null;
}

/**
 * The least of MemAvailable and what every control group around this process leaves.
 * @param root where /proc and /sys are
 */
export function memoryRoom(root = "/"): MemoryRoom {
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(read(join(root, "proc/meminfo")) ?? "")?.[1];
  const rooms: MemoryRoom[] = [];
  if (available !== undefined) rooms.push({ bytes: 1024 * Number(available), set_by: "MemAvailable of /proc/meminfo" });
  const groups = read(join(root, "proc/self/cgroup")) ?? "";
  const v2 = groupPath(groups, (hierarchy) => hierarchy === "0");
  const v1 = groupPath(groups, (_, controllers) => controllers.split(",").includes("memory"));
  if (v2 !== null) rooms.push(...groupRoom(root, V2, v2));
  if (v1 !== null) rooms.push(...groupRoom(root, V1, v1));
  const nothing: MemoryRoom = { bytes: Number.POSITIVE_INFINITY, set_by: "nothing" };
  return rooms.reduce((least, room) => (room.bytes < least.bytes ? room : least), nothing);
}
