/** The names in a folder of sysfs or procfs that a machine may not have. */
import { readdirSync } from "node:fs";

/** Names in ascending order that the pattern allows; none where there is no such folder. */
export function listFolder(path: string, pattern = /^/): string[] {
  try {
    return readdirSync(path)
      .filter((name) => pattern.test(name))
      .sort();
  } catch {
    // Absent on this machine.
    return [];
  }
}
