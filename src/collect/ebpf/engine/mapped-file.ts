/** Where this process can open the very file that another one mapped, whatever its path leads to here. */
import { type BigIntStats, statSync } from "node:fs";
import type { MappingEvent } from "../../../regions/mapping-row.ts";

export interface MappedFile {
  readonly openPath: string;
  /** Changes with the file itself: a file that was made again under the same number has another. */
  readonly identity: string;
}

type MappedRange = Pick<MappingEvent, "pid" | "addr" | "size_bytes" | "dev" | "inode"> & { readonly path: string };

/** Null where there is no regular file, or the way there is closed: the process has ended, or is not ours. */
function regularFile(path: string): BigIntStats | null {
  try {
    const stat = statSync(path, { bigint: true });
    return stat.isFile() ? stat : null;
  } catch {
    return null;
  }
}

/** The number of a device as rows have it, 12 bits of major and 20 of minor, from that of stat (gnu_dev_major(3)). */
function rowDevice(dev: bigint): bigint {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xfff00n);
  return BigInt.asUintN(32, (major << 20n) | minor);
}

/**
 * The file of a mapping: by the mapping itself, which leads to it even where its name was deleted or means another file
 * here, else by its path below the root of the process and by its path here, where device and inode are the same. The
 * device is not asked of the mapping: overlay and btrfs give a file another number when it is mapped.
 * @returns null where none of the three leads to the file any more
 */
export function mappedFile({ pid, addr, size_bytes, path, dev, inode }: MappedRange): MappedFile | null {
  const range = `${addr.toString(16)}-${(addr + size_bytes).toString(16)}`;
  for (const openPath of [`/proc/${pid}/map_files/${range}`, `/proc/${pid}/root${path}`, path]) {
    const stat = regularFile(openPath);
    if (stat === null || stat.ino !== inode) continue;
    if (!openPath.endsWith(range) && rowDevice(stat.dev) !== BigInt(dev ?? 0)) continue;
    return { openPath, identity: `${stat.dev}:${stat.ino}:${stat.birthtimeNs}:${stat.mtimeNs}` };
  }
  return null;
}
