/** Which class goes where in a set of tiers: each to the first that has room and speed for it beside what is there. */
import type { Device } from "../config/device-schema.ts";
import type { Demand } from "./demand.ts";
import { type DeviceFigures, deviceFigures } from "./device-figures.ts";
import { type Load, loadOf, loadsTogether } from "./load.ts";
import { bandwidthShare, fitsWithin, type Verdict } from "./outcome.ts";
import { between, type Quantity, quotient } from "./quantity.ts";

export interface Placed {
  readonly name: string;
  /** Names of the devices on which it may come to lie, in the order given; empty where none takes it. */
  readonly devices: readonly string[];
  /** True where the first of them certainly takes it. */
  readonly is_certain: boolean;
}

/** The load that may be there or not. */
function perhaps(load: Load): Load {
  const open = (quantity: Quantity): Quantity =>
    quantity.hi === null ? quantity : between(0, quantity.hi, "it may lie elsewhere", quantity.rests_on);
  return {
    name: load.name,
    size_bytes: { ...open(load.size_bytes), lo: 0 },
    read_bytes_per_s: { ...open(load.read_bytes_per_s), lo: 0 },
    write_bytes_per_s: { ...open(load.write_bytes_per_s), lo: 0 },
    refresh_bytes_per_s: { ...open(load.refresh_bytes_per_s), lo: 0 },
  };
}

/** Whether a device has room and speed for all of it. */
function takes(device: Device, figures: DeviceFigures, loads: readonly Load[]): Verdict {
  const load = loadsTogether(device.name, loads);
  const verdicts = [quotient(load.size_bytes, figures.capacity), bandwidthShare(load, device, figures)].map(fitsWithin);
  if (verdicts.includes("no")) return "no";
  return verdicts.includes("open") ? "open" : "yes";
}

/** @param devices the tiers, best first @param demands in the order in which they may choose */
export function placement(devices: readonly Device[], demands: readonly Demand[]): Placed[] {
  const tiers = devices.map((device) => ({ device, figures: deviceFigures(device), loads: [] as Load[] }));
  return demands.map((demand) => {
    const found: string[] = [];
    let isPlaced = false;
    for (const { device, figures, loads } of tiers) {
      const load = loadOf(demand, figures);
      const verdict = takes(device, figures, [...loads, load]);
      if (verdict === "no") continue;
      const isSure = verdict === "yes" && found.length === 0;
      loads.push(isSure ? load : perhaps(load));
      found.push(device.name);
      if (verdict === "yes") {
        isPlaced = true;
        break;
      }
    }
    return { name: demand.name, devices: found, is_certain: isPlaced && found.length === 1 };
  });
}
