/** Memory devices by file or by the name of a preset of the package. */
import { MrmTraceError } from "../errors.ts";
import { readCheckedFile } from "./checked-file.ts";
import { type Device, deviceSchema } from "./device-schema.ts";
import { presetNames, presetPath } from "./devices/preset-devices.ts";
import { nearestWord } from "./nearest-word.ts";

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
