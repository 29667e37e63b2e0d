/** HTML as text in which every value is escaped, so that no name of a tensor, a file or a command can be markup. */

/** Text that is markup already. */
export interface Html {
  readonly markup: string;
}

type Piece = string | number | Html | readonly Html[] | null;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text from outside as the content of an element or the value of a quoted attribute. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}

function markupOf(piece: Piece): string {
  if (piece === null) return "";
  if (typeof piece === "string" || typeof piece === "number") return escaped(String(piece));
  return "markup" in piece ? piece.markup : piece.map(({ markup }) => markup).join("");
}

/** A template whose own text is markup and whose values are escaped; null is nothing, a list is its pieces. */
export function html(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return { markup: parts.map((part, i) => (i === 0 ? "" : markupOf(pieces[i - 1] ?? null)) + part).join("") };
}

/** A value as the content of a script element of JSON: no `<` can end that. Numbers that are not finite are null, bigints decimal strings. */
export function jsonScript(id: string, value: unknown): Html {
  const json = JSON.stringify(value, (_key, v: unknown) => (typeof v === "bigint" ? v.toString() : v));
  const safe = json.replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  return { markup: `<script type="application/json" id="${escaped(id)}">${safe}</script>` };
}
