/** What does not fit into a cell: methods by letter and reasons by number, each text once. */
import type { ReportMetric } from "../schema/run-json.ts";
import { formatBytes } from "../units.ts";

export interface Footnotes {
  /** Letter of the method of this row: a, b, ... aa. */
  methodOf(metric: ReportMetric): string;
  /** Number of the reason. */
  reasonOf(text: string): number;
  /** Letters with their methods, in order. */
  methods(): (readonly [string, string])[];
  /** Numbers with their reasons, in order. */
  reasons(): (readonly [number, string])[];
}

function letters(index: number): string {
  const letter = String.fromCharCode(97 + (index % 26));
  return index < 26 ? letter : letters(Math.floor(index / 26) - 1) + letter;
}

/** Where and how the figure was taken: source, step, grain and estimator, without counts in brackets, which are each figure's own. */
function methodText(metric: ReportMetric): string {
  const step = metric.step === "all" ? (metric.phase === "all" ? "whole run" : metric.phase) : metric.step;
  const grain = metric.grain_bytes === null ? [] : [`${formatBytes(metric.grain_bytes)} grain`];
  return `${[metric.source, step, ...grain].join(", ")}: ${metric.method.replace(/ \(\d[^()]*\)/g, "")}`;
}

function index(map: Map<string, number>, text: string): number {
  const existing = map.get(text);
  if (existing !== undefined) return existing;
  map.set(text, map.size);
  return map.size - 1;
}

/** An empty list of footnotes. */
export function createFootnotes(): Footnotes {
  const methods = new Map<string, number>();
  const reasons = new Map<string, number>();
  return {
    methodOf: (metric) => letters(index(methods, methodText(metric))),
    reasonOf: (text) => index(reasons, text) + 1,
    methods: () => [...methods].map(([text, i]) => [letters(i), text] as const),
    reasons: () => [...reasons].map(([text, i]) => [i + 1, text] as const),
  };
}
