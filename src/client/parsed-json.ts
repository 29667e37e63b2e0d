/** Text that may be JSON: what a server or another process sends is checked by its schema next. */

/** What the text says; undefined where it is no JSON, which no schema takes. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
