/** Room for a run: disk below the output folder, and memory. */
import { constants } from "node:fs";
import { access, statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";
import { formatBytes } from "../units.ts";

export interface RoomFacts {
  readonly output: string;
  /** The folder that is there: the output folder, or the nearest above it. */
  readonly folder: string;
  readonly writable: boolean;
  /** For this user; null where the file system does not answer. */
  readonly free_bytes: number | null;
  readonly memory_available_bytes: number | null;
}

/** A file system that hangs, such as one of the network, must not hang us. */
const ANSWER_MS = 2000;
/** Less is a full disk: other programs, and the files that are derived from a capture, need room too. */
const LEAST_DISK_BYTES = 256 * 2 ** 20;
/** A short run of the demo peaked at 150 MiB while recording and at 290 MiB in the analysis after it. */
const LEAST_MEMORY_BYTES = 512 * 2 ** 20;

async function answers<T>(asked: Promise<T>): Promise<T | null> {
  const late = new Promise<null>((done) => {
    setTimeout(() => done(null), ANSWER_MS).unref();
  });
  return await Promise.race([asked.catch(() => null), late]);
}

const isWritable = async (path: string): Promise<boolean> =>
  (await answers(access(path, constants.W_OK | constants.X_OK).then(() => true))) ?? false;
const isThere = async (path: string): Promise<boolean> => (await answers(access(path).then(() => true))) ?? false;

export async function roomFacts(output: string, memory_available_bytes: number | null): Promise<RoomFacts> {
  let folder = resolve(output);
  while (folder !== dirname(folder) && !(await isThere(folder))) folder = dirname(folder);
  const space = await answers(statfs(folder));
  const writable = await isWritable(folder);
  return {
    output: resolve(output),
    folder,
    writable,
    free_bytes: space === null ? null : space.bavail * space.bsize,
    memory_available_bytes,
  };
}

function judgeDisk(facts: RoomFacts, maxSizeBytes: number): Check {
  const { output, folder, writable, free_bytes } = facts;
  const data = { output, folder, writable, free_bytes };
  const fix = "mrm-trace run --output DIR, with a folder on another disk";
  if (!writable) return check("disk", "fail", `${folder} cannot be written`, { fix, data });
  if (free_bytes === null) return check("disk", "fail", `the file system of ${folder} does not answer`, { fix, data });
  const free = `${formatBytes(free_bytes)} free in ${folder}`;
  if (free_bytes < LEAST_DISK_BYTES) return check("disk", "fail", `${free}: no run fits`, { fix, data });
  if (free_bytes >= maxSizeBytes) return check("disk", "ok", free, { data });
  return check("disk", "warn", `${free}: less than a run may record (--max-size, ${formatBytes(maxSizeBytes)})`, {
    fix: `mrm-trace run --max-size ${Math.max(1, Math.floor(free_bytes / 2 ** 20 / 2))}MiB, or --output DIR on another disk`,
    data,
  });
}

function judgeMemory({ memory_available_bytes: available }: RoomFacts): Check {
  const data = { memory_available_bytes: available };
  if (available === null)
    return check("memory", "warn", "/proc/meminfo does not say what is available", {
      fix: "mount -t proc proc /proc",
      data,
    });
  const text = `${formatBytes(available)} available`;
  if (available >= LEAST_MEMORY_BYTES) return check("memory", "ok", text, { data });
  return check(
    "memory",
    "warn",
    `${text}: the tracer and the analysis need ${formatBytes(LEAST_MEMORY_BYTES)} beside the target`,
    {
      fix: "end other programs: ps aux --sort=-rss | head",
      data,
    },
  );
}

/** @param maxSizeBytes what a run may record unless told otherwise */
export function judgeRoom(facts: RoomFacts, maxSizeBytes: number): Check[] {
  return [judgeDisk(facts, maxSizeBytes), judgeMemory(facts)];
}
