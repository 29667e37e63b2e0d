/** The requests of a run on the axis of its time and tokens: a line each, from its sending to its last token. */
import { axisX, dot, gridX, plot, pointer, ruleY, tip } from "@observablehq/plot";
import { formatBytes, formatCount, formatCounted, formatNs } from "../../units.ts";
import type { RequestColumns, RunData } from "../page/data/page-data.ts";
import { reusedShareText } from "../reused-share.ts";
import { ticks } from "./axis-ticks.ts";
import { element } from "./elements.ts";
import { momentOf } from "./heat-data.ts";
import { LAYOUT } from "./heat-paint.ts";
import { whenResized } from "./resized.ts";

/** Of one lane, as far as all of them find room. */
const [MOST_LANE_PX, LEAST_LANE_PX, ROOM_PX] = [18, 3, 320];
const FOOT_PX = 52;
const TICK_PX = 110;

interface Request {
  readonly lane: number;
  readonly sent: number;
  /** When its first batch began; as sent where that is not known. */
  readonly begun: number;
  readonly first: number;
  readonly end: number;
  readonly isAnswered: boolean;
  /** Cells of its row in the table. */
  readonly cells: readonly string[];
}

const HEADS = [
  ...["request", "sent", "first token after", "waited", "between tokens, p50", "p99"],
  ...["prompt tokens", "reused", "share of the prompt", "answer tokens", "KV bytes", "KV needed for", ""],
] as const;

const timeText = (ms: number | null | undefined): string => (ms == null ? "?" : formatNs(ms * 1e6));
const countText = (count: number | null | undefined): string => (count == null ? "?" : formatCount(count));

function requestAt(columns: RequestColumns, i: number): Request {
  const sent = columns.sent_ms[i] ?? 0;
  const ttft = columns.ttft_ms[i] ?? null;
  const first = sent + (ttft ?? 0);
  const bytes = columns.kv_bytes[i] ?? null;
  const status = columns.status[i] ?? "";
  return {
    lane: columns.lane[i] ?? 0,
    sent,
    begun: Math.min(first, sent + (columns.wait_ms[i] ?? 0)),
    first,
    end: first + (columns.generation_ms[i] ?? 0),
    isAnswered: status === "answered" || status === "served",
    cells: [
      String(columns.id[i] ?? ""),
      timeText(sent),
      timeText(ttft),
      timeText(columns.wait_ms[i]),
      timeText(columns.gap_p50_ms[i]),
      timeText(columns.gap_p99_ms[i]),
      countText(columns.prompt_tokens[i]),
      countText(columns.reused_tokens[i]),
      reusedShareText(columns.reused_tokens[i], columns.prompt_tokens[i]) ?? "?",
      countText(columns.output_tokens[i]),
      bytes === null ? "?" : formatBytes(bytes),
      timeText(columns.retention_ms[i]),
      status,
    ],
  };
}

function wordsOf({ cells, sent, end }: Request, run: RunData): string {
  const [id, sentText, ttft, wait, p50, p99, prompt, reused, share, output, bytes, needed, status] = cells;
  const [first, last] = [momentOf(run, sent).token, momentOf(run, end).token];
  const tokens = first === null && last === null ? "" : `, token ${countText(first)} to ${countText(last)} of the run`;
  return [
    `request ${id}, ${status}`,
    `${status === "served" ? "begun" : "sent"} at ${sentText}${tokens}`,
    `first token after ${ttft}, of which it waited ${wait}`,
    `between tokens ${p50}, p99 ${p99}`,
    `prompt ${prompt} tokens, ${reused} reused (${share}); answer ${output}`,
    `KV ${bytes}, needed for ${needed} at most`,
  ].join("\n");
}

/** The same as a table, for who cannot see the lines or wants the numbers. */
function tableOf(requests: readonly Request[]): HTMLElement {
  const details = element("details", {}, element("summary", {}, "Requests as a table"));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    const heads = HEADS.map((text) => (text === "" ? element("td") : element("th", { scope: "col" }, text)));
    const rows = requests.map(({ cells }) => element("tr", {}, ...cells.map((text) => element("td", {}, text))));
    const table = element(
      "table",
      { class: "figures" },
      element("thead", {}, element("tr", {}, ...heads)),
      element("tbody", {}, ...rows),
    );
    details.append(element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "requests" }, table));
  });
  return details;
}

function drawingOf(requests: readonly Request[], run: RunData, width: number): Element {
  const lanes = Math.max(0, ...requests.map(({ lane }) => lane)) + 1;
  const lanePx = Math.max(LEAST_LANE_PX, Math.min(MOST_LANE_PX, ROOM_PX / lanes));
  const marks = ticks(0, run.duration_ms, Math.max(2, Math.floor((width - LAYOUT.left) / TICK_PX)));
  const tokenAt = (ms: number): string => {
    const { token } = momentOf(run, ms);
    return token === null ? "" : `\n${formatCount(token)}`;
  };
  // A place to point at on each line: its begin, its first token and its end.
  const places = requests.flatMap((request) => {
    const words = wordsOf(request, run);
    return [request.sent, request.first, request.end].map((ms) => ({ ms, lane: request.lane, words }));
  });
  const bar = (begin: "sent" | "begun" | "first", end: "begun" | "first" | "end", height: number, opacity: number) =>
    ruleY(requests, {
      y: "lane",
      x1: begin,
      x2: end,
      strokeWidth: Math.max(1, lanePx * height),
      stroke: "currentColor",
      strokeOpacity: opacity,
    });
  const svg = plot({
    width,
    height: lanes * lanePx + FOOT_PX,
    marginLeft: LAYOUT.left,
    marginRight: LAYOUT.right,
    marginTop: 6,
    marginBottom: FOOT_PX - 6,
    x: { domain: [0, run.duration_ms], axis: null },
    // The first lane above the others.
    y: { domain: [lanes - 0.5, -0.5], axis: null },
    marks: [
      gridX(marks),
      axisX(marks, { text: (ms: number) => `${formatNs(ms * 1e6)}${tokenAt(ms)}`, label: null }),
      bar("sent", "begun", 0.12, 0.6),
      bar("begun", "first", 0.6, 0.3),
      bar("first", "end", 0.6, 0.75),
      dot(
        requests.filter(({ isAnswered }) => !isAnswered),
        { x: "end", y: "lane", symbol: "times", stroke: "currentColor" },
      ),
      tip(places, pointer({ x: "ms", y: "lane", title: "words", fill: "var(--panel)", lineWidth: 40 })),
    ],
  });
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Requests by time, ${formatCount(lanes)} at once at most`);
  svg.querySelector("style")?.remove();
  for (const group of svg.querySelectorAll<SVGGElement>("g[aria-label]")) {
    group.dataset.marks = group.getAttribute("aria-label") ?? "";
    group.removeAttribute("aria-label");
  }
  return svg;
}

/** Puts the requests of a run into their place, and again where the width changes. */
export function drawRequests(place: HTMLElement, run: RunData): void {
  const { requests: columns } = run;
  if (columns === null) return;
  const requests = columns.id.map((_, i) => requestAt(columns, i));
  const keys = [
    ["waiting", "waiting"],
    ["prompt", "prompt"],
    ["answer", "answer, token by token"],
    ["unanswered", "not answered to the end"],
  ].map(([name = "", text = ""]) => element("span", { class: `key ${name}` }, text));
  const left_out = columns.left_out === 0 ? [] : [`; ${formatCounted(columns.left_out, "later one")} not drawn`];
  const about = element("p", { class: "tools" }, formatCounted(requests.length, "request"), ...left_out, ...keys);
  const drawing = element("div", { class: "drawing" });
  place.replaceChildren(about, drawing, tableOf(requests));
  let width = 0;
  const draw = (): void => {
    if (place.clientWidth === width) return;
    width = place.clientWidth;
    drawing.replaceChildren(drawingOf(requests, run, Math.max(280, width)));
  };
  draw();
  whenResized(place, draw);
}
