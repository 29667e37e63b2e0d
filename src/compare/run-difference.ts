/** Two runs side by side: every figure with the interval of its difference, and what else was not the same. */

import { runOptionText } from "../config/default-of.ts";
import { wordsOf } from "../schema/row.ts";
import type { MetricDifference, RunDifference, RunSide, SideFigure } from "../schema/run-difference.ts";
import type { RunMetadata } from "../schema/run-metadata.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import type { MetricStatus } from "../schema/words.ts";
import { boundDifference, moverDifference } from "../statistics/mover.ts";
import type { SavedRow, SavedRun } from "./saved-run.ts";

const KEY = ["metric", "region_type", "mapping_kind", "phase", "step", "grain_bytes", "unit"] as const;
const keyOf = (row: SavedRow): string => JSON.stringify(KEY.map((name) => row[name] ?? null));

const text = (value: string | number | null | undefined): string | null => (typeof value === "string" ? value : null);
const figure = (value: string | number | null | undefined): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

function statusOf(row: SavedRow): MetricStatus {
  return wordsOf("metrics", "status").find((status) => status === row.status) ?? "insufficient";
}

/** True of a figure whose ends hold it for certain, as one that was read now and then. */
function isCertain(row: SavedRow | null): boolean {
  return row !== null && figure(row.ci_level) === null && figure(row.lo) !== figure(row.hi);
}

/** A figure of a run; one that was counted and not estimated, and has no ends, is its own interval. */
function sideOf(row: SavedRow): SideFigure {
  const value = figure(row.value);
  const [lo, hi] = [figure(row.lo), figure(row.hi)];
  const counted = figure(row.ci_level) === null && statusOf(row) === "ok" && lo === null && hi === null;
  return {
    status: statusOf(row),
    source: text(row.source) ?? "",
    value,
    lo: counted ? value : lo,
    hi: counted ? value : hi,
    n: figure(row.n) ?? 0,
    label: text(row.label),
    why: text(row.why),
  };
}

type Judged = Pick<MetricDifference, "difference" | "difference_pct" | "method" | "differs" | "why">;

/** The label of what nothing ended while a run looked: by a longer look it may have any that the other has. */
const KEPT = "kept_throughout";
const OPEN = `${KEPT} says how long one looked: a longer look may give the other label`;

const NOTHING = { difference: { value: null, lo: null, hi: null }, difference_pct: null, method: "none" } as const;

const isFigure = ({ status }: Pick<SideFigure, "status">): boolean => status === "ok" || status === "bound";

/** Where two words are compared: they differ or not, without an interval. */
function judgeLabels(a: SideFigure, b: SideFigure): Judged {
  const isSame = a.label === b.label;
  const isOpen = !isSame && [a.label, b.label].includes(KEPT);
  return { ...NOTHING, differs: isOpen ? null : !isSame, why: isOpen ? OPEN : null };
}

function missing(a: SideFigure | null, b: SideFigure | null): string {
  const sentenceOf = (name: string, side: SideFigure | null): string[] => {
    if (side === null) return [`${name} has no such figure`];
    return isFigure(side) ? [] : [`${name}: ${side.status.replace("_", " ")}${side.why ? `: ${side.why}` : ""}`];
  };
  return [...sentenceOf("A", a), ...sentenceOf("B", b)].join("; ");
}

function shareOf(difference: number | null, whole: number | null): number | null {
  return difference !== null && whole ? (100 * difference) / Math.abs(whole) : null;
}

/** @param isByEnds true where an end is none of an interval with a level, so that all between the ends may be */
function judge(a: SideFigure | null, b: SideFigure | null, isByEnds: boolean): Judged {
  if (a === null || b === null || !isFigure(a) || !isFigure(b)) {
    return { ...NOTHING, differs: null, why: missing(a, b) };
  }
  if (a.value === null && b.value === null && a.label !== null && b.label !== null) return judgeLabels(a, b);
  const both = a.value !== null && b.value !== null;
  const mover = moverDifference({ ...a, value: a.value ?? 0 }, { ...b, value: b.value ?? 0 });
  const isMover = both && !isByEnds;
  const difference = isMover ? mover : { value: both ? mover.value : null, ...boundDifference(a, b) };
  const { lo, hi } = difference;
  if (both && a.lo === a.hi && b.lo === b.hi) {
    const why = "counted, not estimated: there is no interval";
    return { difference, difference_pct: shareOf(difference.value, a.value), method: "counted", differs: null, why };
  }
  const apart = (lo !== null && lo > 0) || (hi !== null && hi < 0);
  const sources = a.source === b.source ? null : `the sources differ: ${a.source} and ${b.source}`;
  return {
    difference,
    difference_pct: shareOf(difference.value, a.value),
    method: isMover ? "mover" : "bounds",
    differs: apart ? true : both && lo !== null && hi !== null ? false : null,
    why: apart || both ? sources : "the bounds overlap",
  };
}

/** Rows of one key as pairs: the same source with the same, else the best source of each. */
function pairs(a: readonly SavedRow[], b: readonly SavedRow[]): [SavedRow | null, SavedRow | null][] {
  const same = a.flatMap((row): [SavedRow, SavedRow][] => {
    const other = b.find(({ source }) => source === row.source);
    return other === undefined ? [] : [[row, other]];
  });
  const first = (rows: readonly SavedRow[]): SavedRow | null =>
    rows.find((row) => isFigure({ status: statusOf(row) })) ?? rows[0] ?? null;
  return same.length > 0 ? same : [[first(a), first(b)]];
}

function grouped(rows: readonly SavedRow[]): Map<string, SavedRow[]> {
  return Map.groupBy(rows, keyOf);
}

function differenceOf(one: SavedRow | null, other: SavedRow | null): MetricDifference {
  const row = one ?? other ?? {};
  const a = one === null ? null : sideOf(one);
  const b = other === null ? null : sideOf(other);
  return {
    metric: text(row.metric) ?? "",
    region_type: text(row.region_type) ?? "",
    mapping_kind: text(row.mapping_kind),
    phase: text(row.phase) ?? "",
    step: text(row.step) ?? "",
    grain_bytes: figure(row.grain_bytes),
    unit: text(row.unit) ?? "",
    a,
    b,
    ...judge(a, b, isCertain(one) || isCertain(other)),
  };
}

/** Options that say where results go or how they are shown, and so change no figure. */
const SILENT = ["output", "force", "run_id", "json", "quiet", "verbose", "debug", "color", "config"];

/** Names of what the engines of two runs run with. */
function settingsOf(...runs: readonly RunMetadata[]): string[] {
  const names = new Set(runs.flatMap(({ engine }) => Object.keys(engine ?? {})));
  return [...names].filter((name) => !["name", "objects", "experts", "activations"].includes(name));
}

function contrastsOf(a: RunMetadata, b: RunMetadata): RunDifference["contrasts"] {
  const shown = (value: unknown): string => {
    if (value === null || value === undefined) return "not told";
    return typeof value === "string" ? value : JSON.stringify(value);
  };
  const sources = ({ collectors }: RunMetadata): string =>
    collectors
      .map(({ name, sources: sourceNames }) =>
        sourceNames.length === 0 ? name : `${name} (${sourceNames.join(", ")})`,
      )
      .join(", ");
  const names = [...new Set([...Object.keys(a.options ?? {}), ...Object.keys(b.options ?? {})])].filter(
    (name) => !SILENT.includes(name),
  );
  const parts: [what: string, of: (metadata: RunMetadata) => unknown][] = [
    ["model", ({ model }) => model.id],
    ["machine", ({ machine_id }) => machine_id],
    ["CPU", ({ hardware }) => hardware.cpu_model],
    ["CPUs", ({ hardware }) => hardware.cpus],
    ["virtualisation", ({ hardware }) => hardware.virtualisation],
    ["transparent huge pages", ({ hardware }) => hardware.transparent_hugepage],
    ["kernel", ({ software }) => software.kernel],
    ["mrm-trace", ({ software }) => software.mrm_trace],
    ["sources", sources],
    ["engine", ({ engine }) => engine?.name],
    ...settingsOf(a, b).map((name): [string, (metadata: RunMetadata) => unknown] => [
      name.replaceAll("_", " "),
      ({ engine }) => engine?.[name],
    ]),
    ["command", ({ target }) => target.command.join(" ")],
    ["threads", ({ target }) => target.threads],
    ["validity", ({ validity }) => validity.class],
    ...names.map((name): [string, (metadata: RunMetadata) => unknown] => [
      `option ${name}`,
      ({ options }) => runOptionText(name, options?.[name]),
    ]),
  ];
  return parts
    .map(([what, read]) => ({ what, a: shown(read(a)), b: shown(read(b)) }))
    .filter((contrast) => contrast.a !== contrast.b);
}

function runSide({ path, metadata }: SavedRun): RunSide {
  return { run_dir: path, run_id: metadata.run_id, model_id: metadata.model.id, validity: metadata.validity.class };
}

/** Every figure of both runs in the order of the first, those that only the second has behind. */
export function differenceOfRuns(a: SavedRun, b: SavedRun): RunDifference {
  const [ofA, ofB] = [grouped(a.rows), grouped(b.rows)];
  const keys = [...new Set([...ofA.keys(), ...ofB.keys()])];
  return {
    schema_version: JSON_SCHEMA_VERSION,
    a: runSide(a),
    b: runSide(b),
    contrasts: contrastsOf(a.metadata, b.metadata),
    metrics: keys.flatMap((key) =>
      pairs(ofA.get(key) ?? [], ofB.get(key) ?? []).map(([one, other]) => differenceOf(one, other)),
    ),
  };
}
