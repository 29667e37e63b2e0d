/** Words that look drawn at random, as keys and tokens do, and as names of models, folders and sizes do not. */
import { isShownName } from "./secret-names.ts";

/** A whole word of letters that base64 and hex know: a file has a dot, a path begins with one or with a slash. */
const WORD = /(?<![\w+/.~@-])[A-Za-z0-9][\w+/-]{19,}={0,2}(?![\w+/.=@-]|:\/\/)/g;
/** The name that stands before a value, at the end of what is before it. */
const NAME_BEFORE = /([A-Za-z][\w.-]{0,99})["']?[\s:=]{1,3}["']?$/;
const LONGEST_NAME = 110;

/** Pieces that are long enough to tell; those of a name are mostly shorter. */
const LONG_PIECE = 8;
/** Letters of both cases are drawn from more than letters of one are: fewer of them are enough. */
const FEWEST_MIXED = 20;
const FEWEST_SINGLE = 24;
/** A longer unit is a word: one place in 500 of random letters of both cases begins one. */
const LONGEST_MIXED = 6;
/** Share of such units in what is random all the same, since it is long. */
const MOST_WORDS = 1 / 4;
/** Mean length of a unit: 2.2 where letters of both cases and digits are drawn, 2.5 where of one case, 4 to 5 in words. */
const MEAN_MIXED = 3.5;
const MEAN_SINGLE = 4.5;
/** Share of digits in letters of one case and digits; 28 % where they are drawn. */
const FEWEST_DIGITS = 1 / 8;
/** A number, a word with its capital, or capitals: `Qwen`, `2`, `B`. */
const UNIT = /[A-Z]?[a-z]+|[A-Z]+|\d+/g;

/** True for letters and digits that nobody put together. */
export function isRandom(word: string): boolean {
  const pieces = word.split(/[^A-Za-z0-9]+/).filter(({ length }) => length >= LONG_PIECE);
  const text = pieces.join("");
  const units = pieces.flatMap((piece) => piece.match(UNIT) ?? []);
  const digits = text.replace(/\D/g, "").length;
  if (digits < 2 || digits === text.length) return false;
  const mean = text.length / units.length;
  if (/[a-z]/.test(text) && /[A-Z]/.test(text)) {
    const words = units.filter((unit) => unit.length > LONGEST_MIXED && !/\d/.test(unit)).join("");
    return text.length >= FEWEST_MIXED && mean <= MEAN_MIXED && words.length <= MOST_WORDS * text.length;
  }
  const isPath = word.includes("/");
  return text.length >= FEWEST_SINGLE && mean <= MEAN_SINGLE && digits >= FEWEST_DIGITS * text.length && !isPath;
}

/** The text with `mask` in the place of such words, but for those whose name says that they are looked up. */
export function maskRandom(text: string, mask: string): string {
  return text.replace(WORD, (word: string, begin: number) => {
    const name = NAME_BEFORE.exec(text.slice(Math.max(0, begin - LONGEST_NAME), begin))?.[1];
    return (name !== undefined && isShownName(name)) || !isRandom(word) ? word : mask;
  });
}
