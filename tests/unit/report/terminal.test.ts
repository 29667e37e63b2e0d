import { describe, expect, test } from "bun:test";
import { printableLines, terminalOf } from "../../../src/report/terminal.ts";

describe("what a stream can show", () => {
  const tty = { isTTY: true, columns: 132 };
  const utf8 = { LANG: "C.UTF-8" };
  test("colour only on a TTY, unless NO_COLOR, a dumb terminal or --color says otherwise", () => {
    expect(terminalOf(tty, "auto", utf8)).toEqual({ width: 132, color: true, unicode: true });
    expect(terminalOf({}, "auto", utf8).color).toBe(false);
    expect(terminalOf({}, "auto", { CLICOLOR_FORCE: "1" }).color).toBe(true);
    expect(terminalOf(tty, "auto", { NO_COLOR: "1" }).color).toBe(false);
    expect(terminalOf(tty, "auto", { NO_COLOR: "" }).color).toBe(true);
    expect(terminalOf(tty, "never", utf8).color).toBe(false);
    expect(terminalOf({}, "always", { NO_COLOR: "1" }).color).toBe(true);
    expect(terminalOf(tty, "auto", { TERM: "dumb", ...utf8 })).toEqual({ width: 132, color: false, unicode: false });
  });

  test("the width of the terminal, else COLUMNS, else 100", () => {
    expect(terminalOf({}, "auto", { COLUMNS: "90" }).width).toBe(90);
    expect(terminalOf({}, "auto", { COLUMNS: "wide" }).width).toBe(100);
    expect(terminalOf({ columns: 0 }, "auto", {}).width).toBe(100);
  });
});

test("a text of several lines keeps its lines and nothing that steers a terminal", () => {
  const text = "a \x1b]0;title\x07\n\tb\u202ec\x9b2J\r\nd é";
  expect(printableLines(text)).toBe("a ?]0;title?\n b?c?2J?\nd é");
});
