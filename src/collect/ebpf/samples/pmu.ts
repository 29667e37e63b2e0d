/** Performance monitoring units as sysfs describes them: /sys/bus/event_source/devices. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseCpuList } from "../../../kernel/cpus.ts";
import { listFolder } from "../../../kernel/list-folder.ts";

export const PMU_FOLDER = "/sys/bus/event_source/devices";

export interface Pmu {
  readonly name: string;
  /** `type` of perf_event_attr. */
  readonly type: number;
  /** Field name to its place, such as config:0-7. */
  readonly formats: ReadonlyMap<string, string>;
  /** Event name to its terms, such as event=0xcd,umask=0x1,ldlat=3. */
  readonly events: ReadonlyMap<string, string>;
  readonly caps: ReadonlyMap<string, string>;
  /** CPUs that have it; null where it is on all of them. */
  readonly cpus: readonly number[] | null;
}

function text(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // Absent on this machine.
    return null;
  }
}

/** Files of a folder with their text; none where there is no such folder. */
function filesOf(folder: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of listFolder(folder)) {
    const value = text(join(folder, name));
    if (value !== null) found.set(name, value);
  }
  return found;
}

/** Every PMU of the tree with a number as its type; empty where there is no tree. */
export function readPmus(folder = PMU_FOLDER): Pmu[] {
  return listFolder(folder).flatMap((name) => {
    const type = text(join(folder, name, "type"));
    if (type === null || !/^\d{1,9}$/.test(type)) return [];
    const cpus = text(join(folder, name, "cpus"));
    return [
      {
        name,
        type: Number(type),
        formats: filesOf(join(folder, name, "format")),
        events: filesOf(join(folder, name, "events")),
        caps: filesOf(join(folder, name, "caps")),
        cpus: cpus === null ? null : parseCpuList(cpus),
      },
    ];
  });
}
