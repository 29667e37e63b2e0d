/** The plots of every run, each in its place; runs side by side have the same axes. */
import {
  areaY,
  axisX,
  axisY,
  dot,
  gridX,
  gridY,
  line,
  type Markish,
  plot,
  pointerX,
  rectY,
  ruleX,
  ruleY,
  tip,
} from "@observablehq/plot";
import type { CurveColumns, DeviceBorder, PageData, RunData } from "../page/data/page-data.ts";
import { logTicks, ticks } from "./axis-ticks.ts";
import { borderMarks, borderWords, withBorders } from "./border-marks.ts";
import { type Point, pointsOf, stretchesOf, valueText } from "./curve-points.ts";
import { colorOf, element, tryTo, whyNot } from "./elements.ts";
import { hatching } from "./hatching.ts";
import { PLOTS, type PlotKind } from "./plot-list.ts";
import { fewPointMarks, pointMarks } from "./point-marks.ts";

const HEIGHT = 250;
/** Of a plot with the borders of devices, each with its name. */
const HEIGHT_WITH_BORDERS = 380;
/** The curves after the first of a plot are dashed. */
const DASHES = "5 3";
/** Fewer points make no line: each is drawn by itself, those of one class so many px beside those of another. */
const FEW_POINTS = 3;
const BESIDE_PX = 9;
const TICKS = 5;
/** Room for the words of a tick. */
const TICK_PX = 62;
const MARGIN_LEFT = 66;

/** The curves of a run that a plot draws: decoding before all else, one for each class. */
function curvesOf(run: RunData, kind: PlotKind): CurveColumns[] {
  if ("why" in run.curves) return [];
  const found = run.curves.data.filter(({ curve }) => kind.curves.includes(curve));
  const rank = ({ step, x }: CurveColumns): number =>
    (x.some((value) => value !== null) ? 0 : 4) + ["decode", "generation", "all"].indexOf(step);
  const best = new Map<string, CurveColumns>();
  for (const curve of found) {
    const key = `${curve.curve}/${curve.class}`;
    const other = best.get(key);
    if (other === undefined || rank(curve) < rank(other)) best.set(key, curve);
  }
  return [...best.values()];
}

/** What is rounded to all. */
const NEARLY_ALL = 0.9995;
/** A share that may be any. */
const isAny = ({ y, low, high }: Point): boolean => y === null && (low ?? 0) <= 0 && (high ?? 1) >= NEARLY_ALL;

/** Whether anything of a point can be drawn. */
const isSomewhere = ({ y, low, high }: Point, log: boolean): boolean =>
  (y === null ? [low, high] : [y]).some((end) => end !== null && (!log || end > 0));

/** The points that have a place on these axes: a logarithmic one shows nothing at 0, and a share that may be any has none. */
function drawn(curve: CurveColumns, kind: PlotKind): Point[] {
  const points = pointsOf(curve).filter(
    (point) =>
      (!kind.x.log || point.x > 0) && isSomewhere(point, kind.y.log) && !(kind.y.share === true && isAny(point)),
  );
  const last = points.at(-1);
  // The last slice of a timeline goes on to its end.
  const isTimeline = curve.shape === "timeline" && last !== undefined && last.x_end !== null;
  return isTimeline ? [...points, { ...last, x: last.x_end ?? last.x, n_censored: 0 }] : points;
}

/** Where a point stands: of a bound at its end. */
function placeOf({ y, low, high }: Point): number[] {
  const place = y ?? high ?? low;
  return place === null ? [] : [place];
}

/** Points with both ends of their interval, cut at the foot of the axis. */
function bounded(points: readonly Point[], [foot]: Domain["y"]): Point[] {
  return points.flatMap((point) => {
    const { low, high } = point;
    return low === null || high === null ? [] : [{ ...point, low: Math.max(low, foot), high: Math.max(high, foot) }];
  });
}

/** Intervals as a band, hatched where they are bounds. */
function intervals(curve: CurveColumns, points: readonly Point[], stroke: string): Markish[] {
  const isLine = curve.shape === "line";
  return stretchesOf(points, isLine).map(({ isBound, points: stretch }) => {
    const fill = isBound ? { fill: hatching(curve.class), fillOpacity: 0.5 } : { fill: stroke, fillOpacity: 0.16 };
    const options = { x: "x", y1: "low", y2: "high", ...fill };
    return areaY(stretch, isLine ? options : { ...options, curve: "step-after" });
  });
}

/** @param dx where single points of the class stand beside those of others, in px */
function marksOf(curve: CurveColumns, points: readonly Point[], kind: PlotKind, domain: Domain, dx: number): Markish[] {
  const stroke = colorOf(curve.class);
  const dashes = kind.curves.indexOf(curve.curve) > 0 ? { strokeDasharray: DASHES } : {};
  const base = { x: "x", y: "y", stroke, strokeWidth: 1.8, ...dashes };
  if (curve.shape === "points") return pointMarks(points, bounded(points, domain.y), stroke, domain.y[0]);
  if (curve.shape === "histogram") {
    return [rectY(points, { x1: "x", x2: "x_end", y: "y", fill: stroke, fillOpacity: 0.45, stroke })];
  }
  if (curve.shape === "line" && (kind.isDiscrete === true || points.length < FEW_POINTS)) {
    return fewPointMarks(points, stroke, dx, domain.y);
  }
  const cut = points.filter(({ n_censored, y }) => n_censored > 0 && y !== null);
  return [
    ...intervals(curve, bounded(points, domain.y), stroke),
    line(points, curve.shape === "line" ? base : { ...base, curve: "step-after" }),
    dot(cut, { x: "x", y: "y", symbol: "plus", stroke, r: 2.5 }),
  ];
}

/** Axes with their lines across: by their text, as a logarithmic scale would leave out labels of its own accord. */
function axes({ x, y }: PlotKind, domain: Domain, { x_unit, y_unit }: CurveColumns, width: number): Markish[] {
  const room = Math.floor((width - MARGIN_LEFT) / TICK_PX);
  const across = x.log ? logTicks(...domain.x, x_unit, Math.max(2, Math.min(9, room))) : ticks(...domain.x, TICKS);
  const up = y.log ? logTicks(...domain.y, y_unit, 7) : ticks(...domain.y, TICKS);
  return [
    gridX(across),
    gridY(up),
    axisX(across, { text: (value: number) => valueText(value, x_unit), label: x.label }),
    axisY(up, { text: (value: number) => valueText(value, y_unit), label: y.label }),
  ];
}

interface Domain {
  x: [number, number];
  y: [number, number];
}

/** The ends of an axis: of values that lie close together a decade, so that they are not drawn far apart. */
function spread(low: number, high: number, log: boolean): [number, number] {
  return log && high < 10 * low ? [low / 3, high * 3] : [low, high];
}

/** What all runs need of the axes; null where nothing is drawn. */
function domainOf(all: readonly Point[], kind: PlotKind): Domain | null {
  if (all.length === 0) return null;
  const xs = all.flatMap(({ x, x_end }) => (x_end === null ? [x] : [x, x_end]));
  const ys = all.flatMap(({ y, low, high }) =>
    [y, low, high].filter((value) => value !== null && (!kind.y.log || value > 0)),
  ) as number[];
  const most = Math.max(...ys, 0);
  // The lower end of an interval may be next to nothing, and would take the room of all that is known.
  const least = Math.min(...all.flatMap(placeOf), most);
  return {
    x: spread(Math.min(...xs), Math.max(...xs), kind.x.log),
    y: kind.y.log ? [least / 2, most * 1.3] : [0, kind.y.share ? 1 : Math.max(most, 1e-9)],
  };
}

function words(point: Point, curve: CurveColumns): string {
  const { name, class: type, x, x_end, y, low, high, n, n_censored } = point;
  const [across, up] = [
    (value: number) => valueText(value, curve.x_unit),
    (value: number | null) => valueText(value, curve.y_unit),
  ];
  const interval = low === null && high === null ? "" : ` [${up(low)}, ${up(high)}]`;
  const end = x_end === null ? "" : ` to ${across(x_end)}`;
  const isPoint = curve.shape === "points";
  const place = isPoint ? `lived ${across(x)}${n_censored > 0 ? " or longer" : ""}` : `at ${across(x)}${end}`;
  const cut = !isPoint && n_censored > 0 ? `, ${n_censored} cut short here` : "";
  return `${name ?? type}\n${place}\n${up(y)}${interval}\nn = ${n}${cut}`;
}

/** The values as a table, for who cannot see the plot or wants the numbers. */
function tableOf(
  curves: readonly { readonly curve: CurveColumns; readonly points: readonly Point[] }[],
  kind: PlotKind,
): HTMLElement {
  const details = element("details", {}, element("summary", {}, "Values and method"));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    for (const { curve, points } of curves) {
      const heads = [kind.x.label, kind.y.label, "interval", "n"].map((text) => element("th", { scope: "col" }, text));
      const rows = points.map((point) => {
        const interval =
          point.low === null && point.high === null
            ? ""
            : `${valueText(point.low, curve.y_unit)} to ${valueText(point.high, curve.y_unit)}`;
        const texts = [valueText(point.x, curve.x_unit), valueText(point.y, curve.y_unit), interval, String(point.n)];
        return element("tr", {}, ...texts.map((text) => element("td", {}, text)));
      });
      const caption = element("caption", {}, `${curve.class}: ${curve.method} (from ${curve.source}, ${curve.step})`);
      const table = element(
        "table",
        { class: "figures" },
        caption,
        element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...rows),
      );
      details.append(
        element(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": `values of ${curve.class}` },
          table,
        ),
      );
    }
  });
  return details;
}

function drawOne(
  place: HTMLElement,
  run: RunData,
  kind: PlotKind,
  domain: Domain | null,
  devices: readonly DeviceBorder[],
): void {
  if ("why" in run.curves) {
    place.replaceChildren(whyNot(run.curves.why));
    return;
  }
  const curves = curvesOf(run, kind).map((curve) => ({ curve, points: drawn(curve, kind) }));
  const shown = curves.filter(({ points }) => points.length > 0);
  const silent = curves.filter(({ points }) => points.length === 0);
  const reasons = new Map<string, string[]>();
  for (const { curve } of silent) {
    const open = kind.y.share === true && pointsOf(curve).some(isAny) ? "0 to 100 %: it may be any share" : null;
    const why = curve.why ?? open ?? "no point has a place on these axes";
    reasons.set(why, [...(reasons.get(why) ?? []), curve.class]);
  }
  const parts = [...reasons].map(([reason, classes]) => `${[...new Set(classes)].join(", ")} (${reason})`);
  const why = parts.length === 0 ? [] : [element("p", { class: "why-not" }, `Not drawn: ${parts.join("; ")}.`)];
  const [first] = shown;
  if (first === undefined || domain === null) {
    place.replaceChildren(...(why.length > 0 ? why : [whyNot("this run has no such curve")]));
    return;
  }
  const all = shown.flatMap(({ curve, points }) => points.map((point) => ({ ...point, words: words(point, curve) })));
  const token =
    kind.tokenLine === true && run.token_ns !== null && run.token_ns > domain.x[0] && run.token_ns < domain.x[1]
      ? [run.token_ns]
      : [];
  const classes = [...new Set(shown.map(({ curve }) => curve.class))];
  const title = `${kind.title}: ${classes.join(", ")}`;
  const besideOf = (name: string): number => BESIDE_PX * (classes.indexOf(name) - (classes.length - 1) / 2);
  const width = Math.max(280, place.clientWidth);
  const svg = plot({
    width,
    height: devices.length > 0 ? HEIGHT_WITH_BORDERS : HEIGHT,
    marginLeft: MARGIN_LEFT,
    marginBottom: 38,
    ariaLabel: title,
    x: { type: kind.x.log ? "log" : "linear", domain: domain.x, label: kind.x.label, axis: null },
    y: { type: kind.y.log ? "log" : "linear", domain: domain.y, label: kind.y.label, axis: null },
    marks: [
      ...axes(kind, domain, first.curve, width),
      ...(kind.y.log ? [] : [ruleY([0], { strokeOpacity: 0.4 })]),
      ...borderMarks(devices, domain),
      ...token.map((period) => ruleX([period], { strokeDasharray: "2 3", stroke: "currentColor" })),
      ...shown.flatMap(({ curve, points }) => marksOf(curve, points, kind, domain, besideOf(curve.class))),
      tip(
        all,
        pointerX({
          x: "x",
          y: (point: Point) => point.y ?? point.high ?? point.low,
          title: "words",
          fill: "var(--panel)",
        }),
      ),
    ],
  });
  svg.setAttribute("role", "img");
  // Its rules are in the page's own style sheet: the page's policy lets no other in.
  svg.querySelector("style")?.remove();
  // The plot is one picture with a name: a group of marks has no role that could have a label.
  for (const group of svg.querySelectorAll<SVGGElement>("g[aria-label]")) {
    group.dataset.marks = group.getAttribute("aria-label") ?? "";
    group.removeAttribute("aria-label");
  }
  const key = classes.map((name) => element("span", { class: `key class ${name}` }, name));
  const borders = devices.length > 0 ? borderWords(devices) : [];
  place.replaceChildren(element("div", { class: "tools" }, ...key), svg, ...borders, ...why, tableOf(shown, kind));
}

/** Draws all plots, and again where the width changes. */
export function drawPlots({ runs, devices: presets }: PageData): void {
  const draw = (): void => {
    for (const kind of PLOTS) {
      const devices = kind.devices === true ? presets : [];
      const found = domainOf(
        runs.flatMap((run) => curvesOf(run, kind).flatMap((curve) => drawn(curve, kind))),
        kind,
      );
      const domain = found === null ? null : withBorders(found, devices);
      for (const figure of document.querySelectorAll<HTMLElement>(`[data-plot="${kind.key}"]`)) {
        const run = runs[Number(figure.dataset.run)];
        const place = figure.querySelector<HTMLElement>(".drawing");
        if (run !== undefined && place !== null) tryTo(place, () => drawOne(place, run, kind, domain, devices));
      }
    }
  };
  draw();
  let width = document.documentElement.clientWidth;
  addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    draw();
  });
}
