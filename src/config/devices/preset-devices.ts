/** The memory devices of the package. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Device, deviceSchema } from "../device-schema.ts";

const PRESETS = fileURLToPath(new URL("../../../config/devices/", import.meta.url));
const ENDING = ".yaml";

/** Names of the presets, sorted. */
export function presetNames(): string[] {
  const files = readdirSync(PRESETS).filter((file) => file.endsWith(ENDING));
  return files.map((file) => basename(file, ENDING)).sort();
}

/** Path of a preset's file. */
export const presetPath = (name: string): string => join(PRESETS, `${name}${ENDING}`);

/**
 * A preset, by the parser that is built in: it names no line of what is wrong, and takes a tenth of the time and no library.
 * @throws Error where the file of the package is missing or damaged
 */
export function readPreset(name: string): Device {
  return deviceSchema.parse(Bun.YAML.parse(readFileSync(presetPath(name), "utf8")));
}
