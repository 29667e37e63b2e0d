import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { memoryRoom } from "../../../src/overhead/memory-room.ts";

const MIB = 2 ** 20;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A machine with 1 GiB available, and these files. */
function machine(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "mrm-room-"));
  folders.push(root);
  for (const [path, text] of Object.entries({ "proc/meminfo": "MemAvailable:    1048576 kB\n", ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const room = (files: Readonly<Record<string, string>>): [mib: number, setBy: string] => {
  const root = machine(files);
  const { bytes, set_by } = memoryRoom(root);
  return [bytes / MIB, set_by.replace(root, "")];
};

describe("the memory that is left", () => {
  test("is what the machine has available where no control group bounds it", () => {
    expect(room({})).toEqual([1024, "MemAvailable of /proc/meminfo"]);
    expect(room({ "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n" })[0]).toBe(1024);
  });

  test("is the bound of the group less what is in use and cannot be given back", () => {
    expect(
      room({
        "proc/self/cgroup": "0::/a/b\n",
        "sys/fs/cgroup/a/b/memory.max": `${512 * MIB}\n`,
        "sys/fs/cgroup/a/b/memory.current": `${200 * MIB}\n`,
        "sys/fs/cgroup/a/b/memory.stat": `anon 1\ninactive_file ${30 * MIB}\nactive_file ${20 * MIB}\n`,
      }),
    ).toEqual([362, "memory.max of /sys/fs/cgroup/a/b"]);
  });

  test("is the least of all groups around it, and of what throttles before it kills", () => {
    expect(
      room({
        "proc/self/cgroup": "0::/a/b\n",
        "sys/fs/cgroup/a/b/memory.max": `${512 * MIB}\n`,
        "sys/fs/cgroup/a/memory.high": `${300 * MIB}\n`,
      }),
    ).toEqual([300, "memory.high of /sys/fs/cgroup/a"]);
  });

  test("is bounded by version 1 too, also from inside a container that sees its own group at the top", () => {
    const bound = { "sys/fs/cgroup/memory/memory.limit_in_bytes": `${100 * MIB}\n` };
    expect(room({ "proc/self/cgroup": "4:cpu,memory:/docker/1\n0::/\n", ...bound })[0]).toBe(100);
    expect(
      room({
        "proc/self/cgroup": "4:memory:/x\n",
        "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n",
      })[0],
    ).toBe(1024);
  });

  test("is bounded by the group that has this process where a namespace of groups names it from another place", () => {
    const tree = {
      "proc/self/cgroup": "0::/\n",
      "sys/fs/cgroup/cgroup.procs": "1\n",
      "sys/fs/cgroup/a/cgroup.procs": "2\n",
      "sys/fs/cgroup/a/b/cgroup.procs": `3\n${process.pid}\n`,
      "sys/fs/cgroup/a/b/memory.max": `${400 * MIB}\n`,
    };
    const mounted = (from: string) => ({
      "proc/self/mountinfo": `31 23 0:28 ${from} /sys/fs/cgroup rw - cgroup2 x rw\n`,
    });
    expect(room({ ...tree, ...mounted("/../..") })).toEqual([400, "memory.max of /sys/fs/cgroup/a/b"]);
    // Mounted anew inside of the namespace it begins with the group itself.
    expect(room({ ...tree, ...mounted("/") })[0]).toBe(1024);
  });
});
