/** What a run's data would do to devices, as a table for people. */

import { isFigure } from "../report/figure.ts";
import { type GridRow, grid } from "../report/grid.ts";
import { entry, VALIDITY_INK } from "../report/run-lines.ts";
import { shortFigure } from "../report/short-figure.ts";
import { type Ink, type Line, render, type Terminal } from "../report/terminal.ts";
import type { WhatIf } from "../schema/what-if.ts";
import { formatCount } from "../units.ts";
import type { Verdict } from "./outcome.ts";
import { TOGETHER } from "./what-if.ts";

type DeviceAnswer = WhatIf["devices"][number];
type ClassAnswer = DeviceAnswer["classes"][number];
type FigureAnswer = ClassAnswer["figures"][number];

/** Rows of the table: figure and what it is called. */
const ROWS: readonly (readonly [figure: string, label: string])[] = [
  ["size_bytes", "bytes"],
  ["capacity_share", "of its capacity"],
  ["read_bytes_per_s", "read"],
  ["write_bytes_per_s", "written"],
  ["bandwidth_share", "of its bandwidth"],
  ["read_in_flight_bytes", "reads under way"],
  ["refreshes_per_write_p50", "refreshes, median"],
  ["refreshes_per_write_p99", "refreshes, 99 %"],
  ["refreshes_per_hour", "refreshes per hour"],
  ["power_w", "power"],
  ["energy_per_token_j", "energy per token"],
  ["life_years", "life"],
];
const SHARES: ReadonlySet<string> = new Set(["capacity_share", "bandwidth_share"]);
const INK: Readonly<Record<Verdict, Ink>> = { yes: "good", no: "bad", open: "warn" };

const figureOf = ({ figures }: ClassAnswer, name: string): FigureAnswer | undefined =>
  figures.find(({ figure }) => figure === name);

/** A share below this, in percent, is told as no more than it. */
const LEAST_PCT = 1e-3;

/** Shares are read in percent; what is certainly nothing is told by a word. */
function cellOf(answer: FigureAnswer | undefined): Line {
  if (answer === undefined) return shortFigure(undefined);
  const { figure, unit, lo, hi, status } = answer;
  if (hi === 0) return [{ text: "none", ink: "bold" }];
  const isShare = SHARES.has(figure);
  const times = (x: number | null): number | null => (x === null ? null : x * (isShare ? 100 : 1));
  const isTiny = isShare && hi !== null && 100 * hi < LEAST_PCT;
  return shortFigure({
    metric: figure,
    unit: isShare ? "%" : unit === "refreshes/h" ? "refreshes" : unit,
    value: isTiny ? null : times(answer.value),
    lo: isTiny ? null : times(lo),
    hi: isTiny ? LEAST_PCT : times(hi),
    status: isTiny ? "bound" : status,
    label: null,
  });
}

function verdictRow(label: string, verdicts: readonly Verdict[]): GridRow {
  return { label, cells: verdicts.map((verdict) => [{ text: verdict, ink: INK[verdict] }]) };
}

/** How the reason begins of what a device file leaves open. */
const UNSAID = "the device file does not say";

/** Why figures are missing, each reason once with the figures and classes that lack it. */
function reasonLines({ classes }: DeviceAnswer, width: number): Line[] {
  const reasons = new Map<string, Set<string>>();
  for (const one of classes) {
    if (one.class === TOGETHER) continue;
    for (const [figure, label] of ROWS) {
      const answer = figureOf(one, figure);
      if (answer === undefined || isFigure(answer)) continue;
      const why = answer.why ?? answer.status.replace("_", " ");
      // The line of what is unknown says so once for all.
      if (why.startsWith(UNSAID)) continue;
      reasons.set(why, (reasons.get(why) ?? new Set()).add(`${label} of ${one.class}`));
    }
  }
  return [...reasons].flatMap(([why, lacking], i) => {
    const [first, ...others] = lacking;
    const more = others.length === 0 ? "" : ` and ${formatCount(others.length)} more`;
    return entry(i === 0 ? "not known" : "", `${first}${more}: ${why}`, width, "dim");
  });
}

/** Figures of the device that somebody tells who neither made nor measured it. */
function secondaryLines({ sources }: DeviceAnswer, width: number): Line[] {
  const figures = sources.flatMap(({ figure, kind }) => (kind === "secondary" ? [figure.replaceAll("_", " ")] : []));
  if (figures.length === 0) return [];
  return entry("secondary", `${figures.join(", ")}: told by another than who made or measured it`, width, "dim");
}

function deviceLines(device: DeviceAnswer, { width, unicode }: Terminal): Line[] {
  const { name, classes, unknown } = device;
  // A row that says nothing of any class is told by its reason below.
  const said = ROWS.filter(([figure]) =>
    classes.some((one) => isFigure(figureOf(one, figure) ?? { status: "insufficient" })),
  );
  const rows: GridRow[] = [
    verdictRow(
      "fits",
      classes.map(({ fits }) => fits),
    ),
    verdictRow(
      "fast enough",
      classes.map(({ is_fast_enough }) => is_fast_enough),
    ),
    ...said.map(([figure, label]): GridRow => ({ label, cells: classes.map((one) => cellOf(figureOf(one, figure))) })),
  ];
  const left = unknown.map((figure) => figure.replaceAll("_", " ")).join(", ");
  return [
    [{ text: name, ink: "bold" }],
    ...grid(
      classes.map((one) => one.class),
      rows,
      width,
      unicode ? "─" : "-",
    ),
    ...(left === ""
      ? []
      : entry("unknown", `${left}: ${UNSAID}, and what rests on them is left out or open`, width, "dim")),
    ...secondaryLines(device, width),
    ...reasonLines(device, width),
    [],
  ];
}

function placementLines({ placement }: WhatIf, width: number): Line[] {
  return placement.flatMap(({ name, devices, is_certain }, i) => {
    const where = devices.length === 0 ? "nowhere" : is_certain ? (devices[0] ?? "") : `open: ${devices.join(", or ")}`;
    return entry(
      i === 0 ? "goes to" : "",
      `${name}: ${where}`,
      width,
      devices.length === 0 ? "bad" : is_certain ? "good" : "warn",
    );
  });
}

/** How far the run may be trusted on which all of this rests. */
function validityText({ validity, reasons }: WhatIf): string {
  return reasons.length === 0 ? `of the run: ${validity}` : `of the run: ${validity}: ${reasons.join("; ")}`;
}

/** As text; every line fits into the terminal. */
export function renderWhatIf(answer: WhatIf, terminal: Terminal): string {
  const rates =
    answer.step === "decode" ? "rates while tokens are decoded" : "rates of the whole run, which has no tokens";
  const lines: Line[] = [
    [
      { text: answer.model_id, ink: "bold" },
      { text: `  ${answer.run_id}  ${rates}`, ink: "dim" },
    ],
    [],
    ...answer.devices.flatMap((device) => deviceLines(device, terminal)),
    ...placementLines(answer, terminal.width),
    ...entry("validity", validityText(answer), terminal.width, VALIDITY_INK[answer.validity]),
    ...entry("how", "each interval is what the measured ones allow: docs/what-if.md", terminal.width, "dim"),
  ];
  return render(lines, terminal);
}
