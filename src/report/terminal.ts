/** Text for a terminal: its width, its colours, and lines made of inked spans. */

export type Ink = "plain" | "bold" | "dim" | "good" | "warn" | "bad";

/** A piece of a line; the text holds no escape sequences and no newline. */
export interface Span {
  readonly text: string;
  readonly ink?: Ink;
  /** True for what is copied: a line with it is as long as it is. */
  readonly isWhole?: boolean;
}
export type Line = readonly Span[];

export interface Terminal {
  /** Columns; no line is wider. */
  readonly width: number;
  readonly color: boolean;
  /** False where only ASCII can be shown. */
  readonly unicode: boolean;
}

export type ColorChoice = "auto" | "always" | "never";

const SGR: Record<Exclude<Ink, "plain">, string> = { bold: "1", dim: "2", good: "32", warn: "33", bad: "31" };
const DEFAULT_WIDTH = 100;
const MIN_WIDTH = 20;

/**
 * What the stream can show. Colour: `always` and `never` as asked; `auto` on a TTY that is not dumb, without NO_COLOR
 * (no-color.org: any value but the empty one), or anywhere with CLICOLOR_FORCE. Width: the terminal's, else COLUMNS, else 100.
 */
export function terminalOf(
  stream: { readonly isTTY?: boolean; readonly columns?: number },
  choice: ColorChoice,
  env: Readonly<Record<string, string | undefined>>,
): Terminal {
  const columns = stream.columns ?? Number(env.COLUMNS ?? Number.NaN);
  const isDumb = env.TERM === "dumb";
  const forced = (env.CLICOLOR_FORCE ?? "0") !== "0";
  const auto = !env.NO_COLOR && (forced || (stream.isTTY === true && !isDumb));
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return {
    width: Number.isInteger(columns) && columns > 0 ? Math.max(MIN_WIDTH, columns) : DEFAULT_WIDTH,
    color: choice === "always" || (choice === "auto" && auto),
    unicode: /utf-?8/i.test(locale) && !isDumb,
  };
}

/** Columns that the text takes. */
export const widthOf = (text: string): number => Bun.stringWidth(text);

export function lineWidth(line: Line): number {
  return line.reduce((sum, span) => sum + widthOf(span.text), 0);
}

/** Text from outside without what could move the cursor, hide or reorder text: control, format and line characters become `?`. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, "?");
}

/** The same of a text of several lines, which stay lines: of an error, or of where it came from. */
export const printableLines = (text: string): string =>
  text
    .split("\n")
    .map((line) => printable(line.replaceAll("\t", " ")))
    .join("\n");

const SUBSTITUTES: Record<string, string> = {
  "±": "+-",
  "≥": ">=",
  "≤": "<=",
  "…": "...",
  "─": "-",
  "·": "-",
  "█": "#",
  "░": ":",
};

/** The text in ASCII: our signs as words, everything else as `?`. */
export function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, (sign) => SUBSTITUTES[sign] ?? "?");
}

/** The longest start of the text that fits. */
function fit(text: string, width: number): string {
  let used = 0;
  let out = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += widthOf(segment);
    if (used > width) return out;
    out += segment;
  }
  return out;
}

/** The line cut to the width, with an ellipsis where something is missing. */
export function clip(line: Line, width: number, ellipsis: string): Line {
  if (lineWidth(line) <= width) return line;
  const out: Span[] = [];
  let left = Math.max(0, width - widthOf(ellipsis));
  for (const span of line) {
    const text = fit(span.text, left);
    left -= widthOf(text);
    if (text !== "") out.push({ ...span, text });
    if (text.length < span.text.length) break;
  }
  return [...out, { text: fit(ellipsis, width), ink: "dim" }];
}

/** The text broken at spaces into lines of at most `width` columns; longer words are broken anywhere. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (let word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) <= width) {
      line += ` ${word}`;
      continue;
    }
    if (line !== "") lines.push(line);
    while (widthOf(word) > width) {
      const head = fit(word, width) || word.slice(0, 1);
      lines.push(head);
      word = word.slice(head.length);
    }
    line = word;
  }
  lines.push(line);
  return lines;
}

/** The lines as text for the terminal, each cut to its width unless it is to be whole, without space at the end. */
export function render(lines: readonly Line[], terminal: Terminal): string {
  const shown = lines.map((line) => {
    const safe = line.map((span) => {
      const text = printable(span.text);
      return { ...span, text: terminal.unicode ? text : ascii(text) };
    });
    const isWhole = line.some((span) => span.isWhole === true);
    const cut = isWhole ? safe : clip(safe, terminal.width, terminal.unicode ? "…" : "...");
    if (!terminal.color) {
      return cut
        .map(({ text }) => text)
        .join("")
        .trimEnd();
    }
    return cut
      .map(({ text, ink = "plain" }) =>
        ink === "plain" || text.trim() === "" ? text : `\x1b[${SGR[ink]}m${text}\x1b[0m`,
      )
      .join("")
      .trimEnd();
  });
  return shown.map((line) => `${line}\n`).join("");
}
