/** The examination of a machine as lines for a person. */
import type { Check, CheckStatus, Examination } from "../schema/examination.ts";
import { type Ink, type Line, render, type Terminal, widthOf, wrap } from "./terminal.ts";

const INK: Record<CheckStatus, Ink> = { ok: "good", info: "dim", warn: "warn", fail: "bad" };
const GAP = 2;
const STATUS_WIDTH = 4;

/** Less than this behind a head is no column to read in: the text then stands below. */
const LEAST_ROOM = 20;

/** A head, and text behind it that goes on below itself where it is too long. */
function hanging(head: Line, headWidth: number, text: string, width: number): Line[] {
  const room = width - headWidth;
  if (room < LEAST_ROOM)
    return [head, ...wrap(text, width - 2 * GAP).map((part) => [{ text: `${" ".repeat(2 * GAP)}${part}` }])];
  const indent = { text: " ".repeat(headWidth) };
  return wrap(text, room).map((part, i) => [...(i === 0 ? head : [indent]), { text: part }]);
}

/** What the fix says, one after the other: each command is a line of its own, to be copied whole. */
const partsOf = (fix: string): string[] => fix.split(/; |(?<=; or [a-z ]+:) /);

/** A fix behind the heads of the checks where there is room, else whole on lines of its own. */
function fixLines(fix: string, headWidth: number, width: number): Line[] {
  const word = "fix: ";
  if (headWidth + word.length + widthOf(fix) <= width) {
    return [[{ text: " ".repeat(headWidth) }, { text: word, ink: "bold" }, { text: fix }]];
  }
  const indent = STATUS_WIDTH + GAP;
  return partsOf(fix).map((part, i) => [
    { text: " ".repeat(i === 0 ? indent : indent + word.length) },
    ...(i === 0 ? [{ text: word, ink: "bold" } as const] : []),
    { text: part, isWhole: true },
  ]);
}

function checkLines({ name, status, summary, fix }: Check, nameWidth: number, width: number): Line[] {
  const headWidth = STATUS_WIDTH + nameWidth + 2 * GAP;
  const head: Line = [
    { text: status.toUpperCase().padEnd(STATUS_WIDTH + GAP), ink: INK[status] },
    { text: name.padEnd(nameWidth + GAP) },
  ];
  return [...hanging(head, headWidth, summary, width), ...(fix === null ? [] : fixLines(fix, headWidth, width))];
}

/** The checks with each long fix once: where it comes again, it is named by the check that has it. */
function withFixesOnce(checks: readonly Check[]): Check[] {
  const first = new Map<string, string>();
  return checks.map((one) => {
    const { name, fix } = one;
    if (fix === null) return one;
    const before = first.get(fix);
    if (before === undefined) first.set(fix, name);
    const there = `see that of ${before}`;
    return before === undefined || fix.length <= there.length ? one : { ...one, fix: there };
  });
}

function sourceLines({ auto, candidates }: Examination["sources"], width: number): Line[] {
  const nameWidth = Math.max(...candidates.map(({ source }) => widthOf(source)));
  const takes: Line = [{ text: "access source: " }, { text: auto ?? "none", ink: auto === null ? "bad" : "bold" }];
  const others = candidates.flatMap(({ source, taken, why_not, note }) => {
    const answer = [taken ? "taken" : `not taken: ${why_not ?? "another is"}`, ...(note === null ? [] : [note])];
    return hanging([{ text: `  ${source.padEnd(nameWidth)}  ` }], nameWidth + 4, answer.join("; "), width);
  });
  return [takes, ...others];
}

function verdict({ checks, exit_code }: Examination, width: number): Line[] {
  const count = (wanted: CheckStatus): number => checks.filter(({ status }) => status === wanted).length;
  const counts = `${count("ok")} OK, ${count("info")} INFO, ${count("warn")} WARN, ${count("fail")} FAIL`;
  const word = exit_code === 0 ? "ready" : "not ready";
  const head: Line = [{ text: word, ink: exit_code === 0 ? "good" : "bad" }, { text: ": " }];
  return hanging(head, word.length + 2, counts, width);
}

/** One line for each check, its fix below, then the access sources and the verdict. */
export function renderExamination(examination: Examination, terminal: Terminal): string {
  const { checks, sources } = examination;
  const nameWidth = Math.max(...checks.map(({ name }) => widthOf(name)), 0);
  const lines = withFixesOnce(checks).flatMap((one) => checkLines(one, nameWidth, terminal.width));
  return render(
    [...lines, [], ...sourceLines(sources, terminal.width), [], ...verdict(examination, terminal.width)],
    terminal,
  );
}
