/** The examination of a machine as lines for a person. */
import type { Check, CheckStatus, Examination } from "../schema/examination.ts";
import { type Ink, type Line, render, type Terminal, widthOf, wrap } from "./terminal.ts";

const INK: Record<CheckStatus, Ink> = { ok: "good", info: "dim", warn: "warn", fail: "bad" };
const GAP = 2;
const STATUS_WIDTH = 4;

/** A head, and text behind it that goes on below itself where it is too long. */
function hanging(head: Line, headWidth: number, text: string, width: number): Line[] {
  const indent = { text: " ".repeat(headWidth) };
  return wrap(text, Math.max(20, width - headWidth)).map((part, i) => [...(i === 0 ? head : [indent]), { text: part }]);
}

function checkLines({ name, status, summary, fix }: Check, nameWidth: number, width: number): Line[] {
  const headWidth = STATUS_WIDTH + nameWidth + 2 * GAP;
  const head: Line = [
    { text: status.toUpperCase().padEnd(STATUS_WIDTH + GAP), ink: INK[status] },
    { text: name.padEnd(nameWidth + GAP) },
  ];
  const fixHead: Line = [{ text: " ".repeat(headWidth) }, { text: "fix: ", ink: "bold" }];
  return [
    ...hanging(head, headWidth, summary, width),
    ...(fix === null ? [] : hanging(fixHead, headWidth + 5, fix, width)),
  ];
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

function verdict({ checks, exit_code }: Examination): Line {
  const count = (wanted: CheckStatus): number => checks.filter(({ status }) => status === wanted).length;
  const counts = `${count("ok")} OK, ${count("info")} INFO, ${count("warn")} WARN, ${count("fail")} FAIL`;
  return exit_code === 0
    ? [{ text: "ready", ink: "good" }, { text: `: ${counts}` }]
    : [{ text: "not ready", ink: "bad" }, { text: `: ${counts}` }];
}

/** One line for each check, its fix below, then the access sources and the verdict. */
export function renderExamination(examination: Examination, terminal: Terminal): string {
  const { checks, sources } = examination;
  const nameWidth = Math.max(...checks.map(({ name }) => widthOf(name)), 0);
  const lines = checks.flatMap((one) => checkLines(one, nameWidth, terminal.width));
  return render([...lines, [], ...sourceLines(sources, terminal.width), [], verdict(examination)], terminal);
}
