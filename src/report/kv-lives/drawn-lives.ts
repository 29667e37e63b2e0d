/** The lives of KV rows as lines: for each sequence what it held, wrote, kept and gave up, one character for each part of time. */
import type { KvEndWord } from "../../schema/words.ts";
import { formatCount, formatCounted, formatNs } from "../../units.ts";
import { type Line, type Terminal, wrap } from "../terminal.ts";
import {
  cacheOf,
  type KvLives,
  type LifeEvent,
  type RequestSpan,
  type RowGroup,
  type SequenceLives,
} from "./row-lives.ts";

const LABEL_COLUMNS = 11;
const MOST_COLUMNS = 100;
const MOST_SHARERS = 3;

const PROMPT = "#";
const ANSWER = "+";
const NEEDED = "=";
const IDLE = "-";
const SHARED = "~";

/** How rows left, by a letter. */
const ENDS: Readonly<Record<KvEndWord, readonly [sign: string, meaning: string]>> = {
  trimmed: ["T", "trimmed"],
  cleared: ["C", "cleared"],
  written_over: ["O", "another token written over"],
  replaced: ["R", "replaced"],
  shifted: ["S", "shifted out"],
  memory_gone: ["M", "memory gone"],
  finished: ["F", "given out again, its requests finished"],
  preempted: ["P", "given out again, its request put off"],
  given_out: ["G", "given out again"],
};
const EVENTS: Readonly<Record<LifeEvent["kind"], readonly [sign: string, meaning: string]>> = {
  kv_shift: [">", "positions moved"],
  kv_restore: ["<", "a saved state came back"],
  kv_copy: ["&", "got rows of another sequence"],
};

const MEANINGS: readonly (readonly [sign: string, meaning: string])[] = [
  [PROMPT, "several rows written by one step"],
  [ANSWER, "one row by each step"],
  [NEEDED, "kept, and needed by a later step"],
  [IDLE, "kept, and needed no more"],
  ...Object.values(ENDS),
  ...Object.values(EVENTS),
  [SHARED, "rows that others have too"],
];

/** Parts of time that a chart of this terminal has. */
export function chartParts({ width }: Pick<Terminal, "width">): number {
  return Math.max(1, Math.min(width, MOST_COLUMNS) - LABEL_COLUMNS);
}

/** Rows that a sequence has at the end of each part. */
function heldIn(groups: readonly RowGroup[], parts: number): number[] {
  const changes = new Array<number>(parts).fill(0);
  for (const { rows, written, left } of groups) {
    changes[written] = (changes[written] ?? 0) + rows;
    if (left !== null) changes[left] = (changes[left] ?? 0) - rows;
  }
  let held = 0;
  return changes.map((change) => {
    held += change;
    return held;
  });
}

/** True for the parts in which the sequence has a row of some kind that stays beyond them. */
function partsWith(groups: readonly RowGroup[], parts: number, until: (group: RowGroup) => number): boolean[] {
  const found = new Array<boolean>(parts).fill(false);
  for (const group of groups) found.fill(true, group.written, Math.max(group.written, until(group)));
  return found;
}

/** The letter of how most rows left in each part; null where none did. */
function endsIn(groups: readonly RowGroup[], parts: number): (string | null)[] {
  const counts = Array.from({ length: parts }, () => new Map<string, number>());
  for (const { left, ended_by, rows } of groups) {
    const sign = ended_by === null ? undefined : ENDS[ended_by as KvEndWord]?.[0];
    if (left === null || sign === undefined) continue;
    const part = counts[left];
    part?.set(sign, (part.get(sign) ?? 0) + rows);
  }
  return counts.map((part) => [...part].sort(([, one], [, other]) => other - one)[0]?.[0] ?? null);
}

/** Whether it wrote in each part, else what it keeps there. */
function lifeOf(groups: readonly RowGroup[], parts: number): string {
  const written = new Map<number, string>();
  for (const group of groups) {
    if (group.together || !written.has(group.written)) written.set(group.written, group.together ? PROMPT : ANSWER);
  }
  const isHeld = partsWith(groups, parts, ({ left }) => left ?? parts);
  const isNeeded = partsWith(groups, parts, ({ needed, left }) =>
    Math.min(needed === null ? 0 : needed + 1, left ?? parts),
  );
  return isHeld.map((held, i) => written.get(i) ?? (isNeeded[i] ? NEEDED : held ? IDLE : " ")).join("");
}

/** What came from outside in each part, else how most rows left. */
function changesOf({ groups, events }: SequenceLives, parts: number): string {
  const outside = new Map(events.map(({ part, kind }) => [part, EVENTS[kind][0]]));
  return endsIn(groups, parts)
    .map((end, i) => outside.get(i) ?? end ?? " ")
    .join("");
}

/** A digit for each part: how many ninths of the most rows it holds. */
function heightsOf(groups: readonly RowGroup[], parts: number, most: number): string {
  return heldIn(groups, parts)
    .map((held) => (held <= 0 ? " " : String(Math.max(1, Math.min(9, Math.round((9 * held) / most))))))
    .join("");
}

/** Each request by its number where it begins, with dots until its end; a bar where there is no room for the number. */
function requestsLine(requests: readonly RequestSpan[], parts: number): string {
  const line = new Array<string>(parts).fill(" ");
  requests.forEach(({ label, first, last }, i) => {
    const next = requests[i + 1]?.first;
    const length = Math.max(1, Math.min(last, (next ?? parts) - 1) - first + 1);
    // Numbers that touch would be read as one.
    const room = next === undefined ? length : Math.min(length, next - first - 1);
    const text = label.length <= room ? label.padEnd(length, ".") : "|".padEnd(length, ".");
    for (const [k, sign] of [...text].entries()) if (first + k < parts) line[first + k] = sign;
  });
  return line.join("");
}

const titled = (label: string, chart: string): Line => [
  { text: label.padEnd(LABEL_COLUMNS), ink: "dim" },
  { text: chart },
];

/** A text behind a label, on as many lines as it takes. */
function entryLines(label: string, text: string, width: number): Line[] {
  return wrap(text, width - LABEL_COLUMNS).map((part, i) => titled(i === 0 ? label : "", part));
}

/** With whom it shares most rows, and how many others there are. */
function sharedText(shared: SequenceLives["shared_with"]): string[] {
  const ranked = shared.toSorted(([, one], [, other]) => other - one);
  const named = ranked
    .slice(0, MOST_SHARERS)
    .map(([sequence, rows], i) => (i === 0 ? `shares ${rows} with sequence ${sequence}` : `${rows} with ${sequence}`));
  const others = ranked.length - named.length;
  return others === 0 ? named : [...named, `some with ${formatCounted(others, "other")}`];
}

function sequenceLines(lives: SequenceLives, { parts }: KvLives, most: number, width: number): Line[] {
  const { sequence, rows, most_at_once, fillings, needs, groups, requests, shared_with } = lives;
  const facts = [
    `${formatCounted(rows, "row")} written in ${formatCounted(fillings, "filling")}`,
    `at most ${formatCount(most_at_once)} at once`,
    `each needed by ${formatCount(needs / rows)} steps (mean)`,
    ...sharedText(shared_with),
  ];
  const changes = changesOf(lives, parts);
  const name = sequence === null ? "unnamed" : `sequence ${sequence}`;
  const isShared = partsWith(
    groups.filter(({ shared }) => shared),
    parts,
    ({ left }) => left ?? parts,
  );
  return [
    ...wrap(`${name}: ${facts.join(", ")}`, width - 2).map((part, i): Line => [{ text: i === 0 ? part : `  ${part}` }]),
    ...(requests.length === 0 ? [] : [titled("  requests", requestsLine(requests, parts))]),
    titled("  rows", heightsOf(groups, parts, most)),
    titled("  life", lifeOf(groups, parts)),
    ...(changes.trim() === "" ? [] : [titled("  changes", changes)]),
    ...(isShared.includes(true) ? [titled("  shared", isShared.map((one) => (one ? SHARED : " ")).join(""))] : []),
  ];
}

/** `0 s`, the half and the whole of the time, over the parts that they are of. */
function axisLine({ span_ns, parts }: KvLives): Line {
  const half = formatNs(span_ns / 2);
  const whole = formatNs(span_ns);
  const middle = Math.floor(parts / 2);
  const text = "0 s".padEnd(middle).slice(0, middle) + half;
  return titled("time", text.padEnd(parts - whole.length).slice(0, Math.max(0, parts - whole.length)) + whole);
}

/** Those of the signs that stand in the charts, with their meaning. */
function legend(charts: readonly Line[], most: number): string {
  const used = new Set(charts.flatMap((line) => [...(line[1]?.text ?? "")]));
  const signs = MEANINGS.filter(([sign]) => used.has(sign)).map(([sign, meaning]) => `${sign} ${meaning}`);
  return `9 in a line of rows is ${formatCounted(most, "row")}; ${signs.join(", ")}`;
}

function cacheLines(sequences: readonly SequenceLives[], lives: KvLives, most: number, width: number): Line[] {
  const [first] = sequences;
  if (first === undefined) return [];
  const where = [`pid ${first.pid}`, ...(first.context === null ? [] : [`context ${first.context}`])].join(", ");
  const tensors = lives.tensors.get(cacheOf(first)) ?? 0;
  const others = lives.other_tensors.get(cacheOf(first)) ?? 0;
  const rest =
    others === 0 ? "" : `; those in ${formatCounted(others, "other")} are kept for another time, and not drawn`;
  const head = `KV cache of ${where}: each row of a token lies in ${formatCounted(tensors, "tensor")}${rest}`;
  return [
    ...wrap(head, width).map((text): Line => [{ text, ink: "bold" }]),
    axisLine(lives),
    ...sequences.flatMap((one) => sequenceLines(one, lives, most, width)),
  ];
}

/** @param untold why some rows of the run are not known; null where all are */
export function drawnLives(lives: KvLives, untold: string | null, terminal: Pick<Terminal, "width">): Line[] {
  const width = Math.min(terminal.width, MOST_COLUMNS);
  const most = Math.max(1, ...lives.sequences.map(({ most_at_once }) => most_at_once));
  const caches = [...Map.groupBy(lives.sequences, cacheOf).values()];
  const charts = caches.flatMap((sequences) => [...cacheLines(sequences, lives, most, width), []]);
  const { sequences, rows } = lives.left_out;
  const rest =
    sequences === 0 ? [] : [`${formatCounted(sequences, "more sequence")}, with ${formatCounted(rows, "row")}`];
  const notes = [...rest, ...(untold === null ? [] : [`rows of some sequences are not known: ${untold}`])];
  return [
    ...charts,
    ...entryLines("signs", legend(charts, most), width),
    ...notes.flatMap((text) => wrap(text, width).map((part): Line => [{ text: part }])),
  ];
}
