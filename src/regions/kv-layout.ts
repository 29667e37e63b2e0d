/** Where a cache tensor keeps the row of a token, as its engine says. */
import type { RowOf } from "../schema/row.ts";

export type KvLayout =
  /** A token's bytes are contiguous, one row after another. */
  | { readonly form: "rows" }
  /** One element of each row of the tensor belongs to the token. */
  | { readonly form: "columns" }
  /** Rows in blocks: `block_tokens` rows of `row_bytes` from the first byte of a block, the next `block_bytes` further. */
  | { readonly form: "paged"; readonly row_bytes: number; readonly block_tokens: number; readonly block_bytes: number }
  /** The same blocks, of each of which the bytes of a row are spread over the whole. */
  | { readonly form: "blocks"; readonly row_bytes: number; readonly block_tokens: number; readonly block_bytes: number }
  /** The same, in memory that is made anew for every step, with all rows. */
  | { readonly form: "moved"; readonly row_bytes: number; readonly block_tokens: number; readonly block_bytes: number }
  /** No token has a row: each sequence has one state, which its steps rewrite. */
  | { readonly form: "state" }
  /** The engine has not said. */
  | { readonly form: "unknown" };

export const ROWS: KvLayout = { form: "rows" };
export const COLUMNS: KvLayout = { form: "columns" };
export const STATE: KvLayout = { form: "state" };
export const UNKNOWN_LAYOUT: KvLayout = { form: "unknown" };

/** A layout as the columns of the `tensor` stream hold it. */
export type KvLayoutColumns = Pick<
  RowOf<"tensor">,
  "kv_layout" | "kv_row_bytes" | "kv_block_tokens" | "kv_block_bytes"
>;

const IN_BLOCKS: readonly string[] = ["paged", "blocks", "moved"] satisfies KvLayout["form"][];
type InBlocks = Extract<KvLayout, { form: "paged" | "blocks" | "moved" }>;

const isBlocksForm = (form: string): form is InBlocks["form"] => IN_BLOCKS.includes(form);

/** True where rows lie in blocks. */
export function isInBlocks(layout: KvLayout): layout is InBlocks {
  return isBlocksForm(layout.form);
}

/** The columns of a layout; all null for what is no cache. */
export function layoutColumns(layout: KvLayout | null): KvLayoutColumns {
  const paged = layout !== null && isInBlocks(layout) ? layout : null;
  return {
    kv_layout: layout?.form ?? null,
    kv_row_bytes: paged?.row_bytes ?? null,
    kv_block_tokens: paged?.block_tokens ?? null,
    kv_block_bytes: paged?.block_bytes ?? null,
  };
}

/** The layout that the columns hold; null without one, unknown where they are none of ours. */
export function layoutOf(columns: KvLayoutColumns): KvLayout | null {
  const { kv_layout, kv_row_bytes: row_bytes, kv_block_tokens: block_tokens, kv_block_bytes: block_bytes } = columns;
  if (kv_layout === null) return null;
  if (kv_layout === "rows" || kv_layout === "columns" || kv_layout === "state") return { form: kv_layout };
  if (!isBlocksForm(kv_layout) || !row_bytes || !block_tokens || !block_bytes) return UNKNOWN_LAYOUT;
  return row_bytes * block_tokens <= block_bytes
    ? { form: kv_layout, row_bytes, block_tokens, block_bytes }
    : UNKNOWN_LAYOUT;
}

/** A cache tensor as far as the place of a row needs it. */
export interface KvPlace {
  readonly layout: KvLayout;
  /** Rows that one stream of it has room for. */
  readonly cells: number;
  /** Streams, one behind the other; a cell is counted through all of them. */
  readonly streams: number;
  /** Bytes of one token's row. */
  readonly row_bytes: number;
  readonly element_bytes: number;
}

/** Bytes from the begin of the tensor to those of the row in a cell, the first of them for columns; null where it cannot be told. */
export function rowOffset(
  { layout, cells, streams, row_bytes, element_bytes }: KvPlace,
  cell: number | null,
): number | null {
  if (cell === null || cell < 0 || cell >= cells * streams) return null;
  switch (layout.form) {
    case "rows":
      return Math.floor(cell * row_bytes);
    case "columns":
      return Math.floor(Math.floor(cell / cells) * cells * row_bytes + (cell % cells) * element_bytes);
    case "paged":
      return (
        Math.floor(cell / layout.block_tokens) * layout.block_bytes + (cell % layout.block_tokens) * layout.row_bytes
      );
    default:
      return null;
  }
}

/** The cell whose row holds the byte at `offset`; null where it lies in none, or rows are not contiguous. */
export function cellAt({ layout, cells, streams, row_bytes }: KvPlace, offset: number): number | null {
  let cell: number | null = null;
  if (layout.form === "rows") cell = Math.floor(offset / row_bytes);
  if (layout.form === "paged") {
    const row = Math.floor((offset % layout.block_bytes) / layout.row_bytes);
    if (row < layout.block_tokens) cell = Math.floor(offset / layout.block_bytes) * layout.block_tokens + row;
  }
  return cell !== null && cell >= 0 && cell < cells * streams ? cell : null;
}
