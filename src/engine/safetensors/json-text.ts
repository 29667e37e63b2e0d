/** A position in a JSON text that may be hostile: what is expected next is asked for, the first failure sticks, and nothing nests unasked. */

export interface JsonText {
  /** Characters before here. */
  offset(): number;
  /** The first failure, null while all is well. */
  failure(): { readonly reason: string; readonly offset: number } | null;
  fail(reason: string): void;
  /** The next string, of at most `longest` characters as it is written; empty after a failure. */
  string(longest: number): string;
  /** The next whole number of at least 0; 0 after a failure. */
  count(): number;
  /** Reads what stands between two brackets, separated by commas; `item` reads one. */
  each(brackets: "[]" | "{}", item: () => void): void;
  /** The string before a colon, and the colon. */
  key(longest: number): string;
  /** Nothing but blanks may be left. */
  end(): void;
}

const BLANK = /[ \t\n\r]*/y;
const COUNT = /(?:0|[1-9]\d{0,15})(?![\d.eE])/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function jsonText(text: string): JsonText {
  let position = 0;
  let failed: { readonly reason: string; readonly offset: number } | null = null;

  function fail(reason: string): void {
    failed ??= { reason, offset: position };
  }

  /** What a sticky pattern finds here, and goes behind it; null where it finds nothing. */
  function take(pattern: RegExp): string | null {
    pattern.lastIndex = position;
    const [found] = pattern.exec(text) ?? [];
    if (found === undefined) return null;
    position += found.length;
    return found;
  }

  function takes(char: string): boolean {
    if (failed) return false;
    take(BLANK);
    if (text[position] !== char) return false;
    position += 1;
    return true;
  }

  function wants(char: string): void {
    if (!takes(char)) fail(`${char} wanted`);
  }

  /** One past the closing quote of the string that begins here; -1 where there is none within `longest`. */
  function stringEnd(longest: number): number {
    const last = Math.min(text.length, position + longest + 2);
    for (let next = position + 1; next < last; next++) {
      const code = text.charCodeAt(next);
      if (code === QUOTE) return next + 1;
      if (code === BACKSLASH) next += 1;
    }
    return -1;
  }

  function string(longest: number): string {
    if (failed) return "";
    take(BLANK);
    const end = text.charCodeAt(position) === QUOTE ? stringEnd(longest) : -1;
    if (end < 0) {
      fail(`a string of at most ${longest} characters wanted`);
      return "";
    }
    try {
      const value: unknown = JSON.parse(text.slice(position, end));
      position = end;
      return String(value);
    } catch {
      // Its escapes or its control characters are not JSON's.
      fail("a string that JSON does not allow");
      return "";
    }
  }

  return {
    offset: () => position,
    failure: () => failed,
    fail,
    string,
    count() {
      if (failed) return 0;
      take(BLANK);
      const value = Number(take(COUNT) ?? Number.NaN);
      if (Number.isSafeInteger(value)) return value;
      fail("a count wanted");
      return 0;
    },
    each([open = "", close = ""], item) {
      wants(open);
      if (takes(close)) return;
      do item();
      while (takes(","));
      wants(close);
    },
    key(longest) {
      const key = string(longest);
      wants(":");
      return key;
    },
    end() {
      if (failed) return;
      take(BLANK);
      if (position < text.length) fail("something behind the end");
    },
  };
}
