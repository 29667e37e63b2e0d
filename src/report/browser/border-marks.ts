/** Borders of memory devices on a plot of lifetimes and reads: upright where they forget, level where they are too slow when full. */
import { type Markish, rect, ruleX, ruleY, text } from "@observablehq/plot";
import type { DeviceBorder, Ends } from "../page/data/page-data.ts";
import { timeText } from "./curve-points.ts";
import { element } from "./elements.ts";

interface Domain {
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
}

interface Border {
  readonly ends: Ends;
  /** The devices that end there. */
  readonly name: string;
}

const INK = "var(--faint)";
/** Room for a label, in shares of the height: those that lie closer stand beside each other. */
const LINE_SHARE = 0.05;
const CHARACTER_PX = 6.2;
/** Beyond the outermost border there is room to see that something lies there. */
const BEYOND = 8;

const givenEnds = (ends: Ends): number[] => ends.filter((end) => end !== null);
/** Where a label stands: at the end that is sure. */
const placeOf = ([least, most]: Ends): number => least ?? most ?? Number.NaN;

/** Borders in the order of their places; devices that end at the same place share one. */
function borders(devices: readonly DeviceBorder[], key: "retention_ns" | "reads_per_s"): Border[] {
  const found = new Map<string, Border>();
  for (const { preset, [key]: ends } of devices) {
    if (ends === null) continue;
    const same = found.get(ends.join());
    found.set(ends.join(), { ends, name: same === undefined ? preset : `${same.name}, ${preset}` });
  }
  return [...found.values()].sort((a, b) => placeOf(a.ends) - placeOf(b.ends));
}

/** The axes with room for every border. */
export function withBorders<T extends Domain>(domain: T, devices: readonly DeviceBorder[]): T {
  const widened = ([low, high]: readonly [number, number], ends: readonly number[]): [number, number] => [
    Math.min(low, ...ends.map((end) => end / BEYOND)),
    Math.max(high, ...ends.map((end) => end * BEYOND)),
  ];
  const endsOf = (key: "retention_ns" | "reads_per_s") => borders(devices, key).flatMap(({ ends }) => givenEnds(ends));
  return { ...domain, x: widened(domain.x, endsOf("retention_ns")), y: widened(domain.y, endsOf("reads_per_s")) };
}

/** How far each label stands from the edge, in characters: beside the one below it where they would lie upon each other. */
function indents(levels: readonly Border[], { y: [low, high] }: Domain): number[] {
  const share = ({ ends }: Border): number => Math.log(placeOf(ends) / low) / Math.log(high / low);
  const out: number[] = [];
  for (const [i, level] of levels.entries()) {
    const before = levels[i - 1];
    const isClose = before !== undefined && share(level) - share(before) < LINE_SHARE;
    out.push(isClose ? (out[i - 1] ?? 0) + before.name.length + 2 : 0);
  }
  return out;
}

/** Lines with the names of the devices; a range is shaded from one end to the other. */
export function borderMarks(devices: readonly DeviceBorder[], domain: Domain): Markish[] {
  const uprights = borders(devices, "retention_ns");
  const levels = borders(devices, "reads_per_s");
  const indent = indents(levels, domain);
  const shade = { fill: INK, fillOpacity: 0.16 };
  const ranges = (all: readonly Border[]) => all.filter(({ ends: [a, b] }) => a !== null && b !== null && a < b);
  const words = { fill: "var(--quiet)", stroke: "var(--paper)", strokeWidth: 3, fontSize: 10 };
  return [
    rect(ranges(uprights), { x1: ({ ends }: Border) => ends[0], x2: ({ ends }: Border) => ends[1], ...shade }),
    rect(ranges(levels), { y1: ({ ends }: Border) => ends[0], y2: ({ ends }: Border) => ends[1], ...shade }),
    ruleX(
      uprights.flatMap(({ ends }) => givenEnds(ends)),
      { stroke: INK },
    ),
    ruleY(
      levels.flatMap(({ ends }) => givenEnds(ends)),
      { stroke: INK },
    ),
    text(uprights, {
      ...words,
      x: ({ ends }: Border) => placeOf(ends),
      y: domain.y[0],
      text: "name",
      rotate: -90,
      textAnchor: "start",
      dx: -6,
      dy: -4,
    }),
    ...levels.map((level, i) =>
      text([level], {
        ...words,
        x: domain.x[0],
        y: placeOf(level.ends),
        text: "name",
        textAnchor: "start",
        dx: 2 + CHARACTER_PX * (indent[i] ?? 0),
        dy: -6,
      }),
    ),
  ];
}

function endsText(ends: Ends | null, format: (value: number) => string): string {
  if (ends === null) return "not known";
  const [least, most] = ends.map((end) => (end === null ? null : format(end)));
  if (least === most) return `${least}`;
  return least === null ? `at most ${most}` : most === null ? `at least ${least}` : `${least} to ${most}`;
}

/** Which devices lack a border, and why. */
function lacking(devices: readonly DeviceBorder[]): string {
  const parts = (["retention_ns", "reads_per_s"] as const).flatMap((key) => {
    const without = devices.filter((device) => device[key] === null).map(({ preset }) => preset);
    const line = key === "retention_ns" ? "upright" : "level";
    const figure = key === "retention_ns" ? "how long it keeps data" : "bandwidth and capacity";
    return without.length === 0 ? [] : [`no ${line} line for ${without.join(", ")}: the file does not say ${figure}`];
  });
  return parts.length === 0 ? "" : ` There is ${parts.join("; ")}.`;
}

/** What the lines mean, which are missing, and the figures and sources of each. */
export function borderWords(devices: readonly DeviceBorder[]): HTMLElement[] {
  const about =
    "Lines are the devices of mrm-trace what-if. Left of an upright line data dies before the device forgets it. Below a level line a device that is full of such data is fast enough to read it so often: its bandwidth through its capacity. Between the two ends of a range it is open.";
  const heads = ["device", "keeps data", "reads of each byte when full", "from"];
  const rows = devices.map(({ preset, name, retention_ns, reads_per_s, missing, sources }) => {
    const unsaid = missing.length === 0 ? [] : [`not said: ${missing.join(", ")}`];
    const perSecond = endsText(reads_per_s, (value) => `${Number(value.toPrecision(3))}/s`);
    const texts = [endsText(retention_ns, timeText), perSecond, [...sources, ...unsaid].join("; ")];
    const head = element("th", { scope: "row" }, `${preset}: ${name}`);
    return element("tr", {}, head, ...texts.map((cell) => element("td", {}, cell)));
  });
  const table = element(
    "table",
    { class: "figures devices" },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...rows),
  );
  const scroll = { class: "scroll", tabindex: 0, role: "region", "aria-label": "borders of the devices" };
  return [
    element("p", { class: "why-not" }, about + lacking(devices)),
    element("details", {}, element("summary", {}, "Devices and sources"), element("div", scroll, table)),
  ];
}
