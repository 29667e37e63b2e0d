/** A row of a table as a type that follows from the table. */
import { type Column, columnsOf, type TABLES, type TableName } from "./columns.ts";

/** What stands for one value of each column type where a row is an object. */
interface Values {
  u64: bigint;
  i64: bigint;
  u32: number;
  i32: number;
  u16: number;
  u8: number;
  f64: number;
  f32: number;
  bool: boolean;
  string: string;
}

type Value<C extends Pick<Column, "type">> = C extends { readonly words: infer W }
  ? keyof W & string
  : Values[C["type"]];

/** The columns of a table as a union. */
export type ColumnOf<T extends TableName> = (typeof TABLES)[T]["columns"][number];

/**
 * Columns laid out by hand, but for those left out: a name that the table lacks does not compile, nor does a column that
 * the table gets until it is laid out too.
 */
export type EveryColumn<T extends TableName, Without extends ColumnOf<T>["name"] = never> = {
  readonly [Name in Exclude<ColumnOf<T>["name"], Without>]: unknown;
};

/** A row with every column: null stands only where the table allows it, and must be written. */
export type RowOf<T extends TableName> = {
  readonly [C in ColumnOf<T> as C["name"]]: C extends { readonly nullable: true } ? Value<C> | null : Value<C>;
};

/** The columns of a table that may be null. */
export type NullsOf<T extends TableName> = {
  readonly [C in Extract<ColumnOf<T>, { readonly nullable: true }> as C["name"]]: null;
};

/** Null in every column that may be so: for rows that have next to nothing but when and whose. */
export function nullsOf<T extends TableName>(table: T): NullsOf<T> {
  const nullable = columnsOf(table).filter((column) => column.nullable === true);
  return Object.fromEntries(nullable.map(({ name }) => [name, null])) as NullsOf<T>;
}

/** Columns of a table that hold one of a closed list of words. */
type WordColumn<T extends TableName> = Extract<ColumnOf<T>, { readonly words: object }>["name"];

/** One of the words of a column. */
export type WordOf<T extends TableName, N extends WordColumn<T>> = NonNullable<RowOf<T>[N]> & string;

/** The words of a column, in the order of the table. */
export function wordsOf<T extends TableName, N extends WordColumn<T>>(table: T, name: N): readonly WordOf<T, N>[] {
  const { words } = columnsOf(table).find((column) => column.name === name) ?? {};
  return Object.keys(words ?? {}) as WordOf<T, N>[];
}

/** The position of each word in that list: its code in a column of codes over it. */
export function codesOf<T extends TableName, N extends WordColumn<T>>(
  table: T,
  name: N,
): Readonly<Record<WordOf<T, N>, number>> {
  const codes = wordsOf(table, name).map((word, code) => [word, code]);
  return Object.fromEntries(codes) as Record<WordOf<T, N>, number>;
}
