/** Tables of which every row becomes an object: a file of some bytes can claim millions of rows. */
import { openParquetSource } from "./parquet-file.ts";
import { assertRefusal, TooLarge } from "./refusal.ts";

/** Far more than a run has figures. */
const MOST_ROWS = 1 << 18;

/** Rows by the file's own footer; null where only another reader knows. */
function rowsOf(path: string): number | null {
  try {
    using source = openParquetSource(path);
    return source.footer.rows;
  } catch (error) {
    assertRefusal(error);
    return null;
  }
}

/**
 * Passes on what is read of a file.
 * @param rowsIn a part of it
 * @throws TooLarge where it has more rows than a table of few, before they are read where it says so
 */
export function* fewRows<B>(path: string, parts: Iterable<B>, rowsIn: (part: B) => number): Generator<B, void, void> {
  const refuse = (rows: number): TooLarge =>
    new TooLarge(`cannot read ${path}: ${rows} rows are more than the ${MOST_ROWS} that such a table has`);
  const said = rowsOf(path) ?? 0;
  if (said > MOST_ROWS) throw refuse(said);
  let rows = 0;
  for (const part of parts) {
    rows += rowsIn(part);
    if (rows > MOST_ROWS) throw refuse(rows);
    yield part;
  }
}
