/** What a run's data would do to memory devices: every class on each device, all of them on it, and which goes where. */
import { DEVICE_FIGURES, type Device, UNKNOWN } from "../config/device-schema.ts";
import type { RunReport } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import type { WhatIf } from "../schema/what-if.ts";
import { demandsOf } from "./demand.ts";
import { deviceFigures } from "./device-figures.ts";
import { loadOf, loadsTogether } from "./load.ts";
import { fitsWithin, OUTCOME_UNITS, type Outcome, outcomeOf } from "./outcome.ts";
import { placement } from "./placement.ts";
import { heldAtLeast } from "./quantity.ts";

export const TOGETHER = "together";

function classJson(
  name: string,
  size_bytes: Outcome[keyof Outcome],
  outcome: Outcome,
): WhatIf["devices"][number]["classes"][number] {
  const all = { size_bytes, ...outcome };
  const units: Readonly<Record<string, string>> = { size_bytes: "bytes", ...OUTCOME_UNITS };
  return {
    class: name,
    fits: fitsWithin(outcome.capacity_share),
    is_fast_enough: fitsWithin(outcome.bandwidth_share),
    figures: Object.entries(all).map(([figure, quantity]) => {
      const { value, lo, hi, status, why, rests_on } = quantity;
      const isKnown = status === "ok" || status === "bound";
      return {
        figure,
        unit: units[figure] ?? "",
        value,
        lo: isKnown ? lo : null,
        hi: isKnown ? hi : null,
        status,
        why,
        rests_on,
        level_at_least: isKnown ? heldAtLeast(quantity) : null,
      };
    }),
  };
}

function sourcesOf(device: Device): WhatIf["devices"][number]["sources"] {
  return DEVICE_FIGURES.flatMap((figure) => {
    const given = device[figure];
    if (given === UNKNOWN) return [];
    const { source = null, kind = null, url = null } = given;
    return [{ figure, source, kind, url }];
  });
}

/** @param devices one, or tiers from the best on */
export function whatIf(report: RunReport, devices: readonly Device[]): WhatIf {
  const { classes, tokens_per_s, step } = demandsOf(report);
  return {
    schema_version: JSON_SCHEMA_VERSION,
    run_dir: report.run_dir,
    run_id: report.run_id,
    model_id: report.model_id,
    validity: report.validity,
    reasons: report.reasons,
    step,
    devices: devices.map((device) => {
      const figures = deviceFigures(device);
      const loads = classes.map((demand) => loadOf(demand, figures));
      const all = loadsTogether(TOGETHER, loads);
      return {
        name: device.name,
        unknown: DEVICE_FIGURES.filter((figure) => device[figure] === UNKNOWN),
        sources: sourcesOf(device),
        classes: [
          ...classes.map((demand, i) => {
            const load = loads[i] ?? all;
            return classJson(demand.name, load.size_bytes, outcomeOf(load, demand, tokens_per_s, device, figures));
          }),
          ...(classes.length > 1
            ? [classJson(TOGETHER, all.size_bytes, outcomeOf(all, null, tokens_per_s, device, figures))]
            : []),
        ],
      };
    }),
    placement: devices.length > 1 ? placement(devices, classes) : [],
  };
}
