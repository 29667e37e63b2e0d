/** Memory devices by file or by the name of a preset of the package. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MrmTraceError } from "../errors.ts";
import { readCheckedFile } from "./checked-file.ts";
import { type Device, deviceSchema } from "./device-schema.ts";
import { nearestWord } from "./nearest-word.ts";

const PRESETS = fileURLToPath(new URL("../../config/devices/", import.meta.url));
const ENDING = ".yaml";

/** Names of the presets, sorted. */
export function presetNames(): string[] {
  const files = readdirSync(PRESETS).filter((file) => file.endsWith(ENDING));
  return files.map((file) => basename(file, ENDING)).sort();
}

/** Path of a preset's file. */
export const presetPath = (name: string): string => join(PRESETS, `${name}${ENDING}`);

/**
 * Reads a device.
 * @param word name of a preset, or path of a file: what has a slash or a dot
 * @throws MrmTraceError usage, for an unknown name with the nearest preset, else with every problem of the file
 */
export function readDevice(word: string): Device {
  const names = presetNames();
  const isPreset = names.includes(word);
  if (!isPreset && !/[./]/.test(word)) {
    const nearest = nearestWord(word, names);
    const hint = nearest === null ? `name a YAML file, or one of ${names.join(", ")}` : `did you mean ${nearest}?`;
    throw new MrmTraceError("usage", `there is no device "${word}"`, hint);
  }
  const wanted = {
    noun: "a memory device",
    hint: `name a YAML file, or one of ${names.join(", ")}; \`mrm-trace schema device\` says what it may hold`,
  };
  const path = isPreset ? presetPath(word) : word;
  return readCheckedFile(path, deviceSchema, wanted, `mrm-trace what-if RUN_DIR --device ${word}`).value;
}
