/** Where the preset devices of `what-if` end on the plot of lifetimes and reads: what follows from their own figures. */
import { type Device, type DeviceFigure, UNKNOWN } from "../../../config/device-schema.ts";
import { presetNames, readPreset } from "../../../config/devices/preset-devices.ts";
import type { DeviceBorder, Ends } from "./page-data.ts";

/** The ends of a figure of a device file; null where the file does not say it. */
function endsOf(device: Device, figure: DeviceFigure): Ends | null {
  const given = device[figure];
  if (given === UNKNOWN) return null;
  const { value, from: least = null, to: most = null } = given;
  return value === undefined ? [least, most] : [value, value];
}

/** From the least that a quotient can be to the most; null where neither is known. */
function quotient([low, high]: Ends, [least, most]: Ends): Ends | null {
  const ends: Ends = [
    low === null || most === null ? null : low / most,
    high === null || least === null ? null : high / least,
  ];
  return ends[0] === null && ends[1] === null ? null : ends;
}

/** How often in a second each byte of a full device can be read: its bandwidth for reads through its capacity. */
function readsOfFull(device: Device): { readonly ends: Ends | null; readonly figures: readonly DeviceFigure[] } {
  const rate = device.read_bandwidth === UNKNOWN ? "bandwidth" : "read_bandwidth";
  const [bytes, size] = [endsOf(device, rate), endsOf(device, "capacity")];
  return { ends: bytes === null || size === null ? null : quotient(bytes, size), figures: [rate, "capacity"] };
}

function sourceOf(device: Device, figure: DeviceFigure): string[] {
  const given = device[figure];
  if (given === UNKNOWN || given.source === undefined) return [];
  const hand = given.kind === "secondary" ? " (second-hand)" : "";
  return [`${figure.replaceAll("_", " ")}: ${given.source}${hand}`];
}

/** The borders of one device. @param preset as `what-if --device` takes it */
export function bordersOf(preset: string, device: Device): DeviceBorder {
  const { ends, figures } = readsOfFull(device);
  const used = [...(device.retention === UNKNOWN ? [] : (["retention"] as const)), ...(ends === null ? [] : figures)];
  const missing = (["retention", ...figures] as const).filter((figure) => device[figure] === UNKNOWN);
  return {
    preset,
    name: device.name,
    retention_ns: endsOf(device, "retention"),
    reads_per_s: ends,
    missing: missing.map((figure) => figure.replaceAll("_", " ")),
    sources: used.flatMap((figure) => sourceOf(device, figure)),
  };
}

/** The borders of all presets, by name. @throws Error where a file of the package is damaged */
export function presetBorders(): DeviceBorder[] {
  return presetNames().map((preset) => bordersOf(preset, readPreset(preset)));
}
