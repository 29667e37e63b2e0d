/** kv_block_lifecycle.parquet. */

import { join } from "node:path";
import { NULL_CODE } from "../../columnar/batch.ts";
import { collectAfter } from "../../columnar/collect-after.ts";
import { type RowKeys, rowKeys } from "../../columnar/keys/row-keys.ts";
import { type TwoWords, twoWords } from "../../columnar/two-words.ts";
import type { KeyedColumn } from "../../columnar/write/encodable.ts";
import { openParquetWriter } from "../../columnar/write/parquet-writer.ts";
import { rowOffset } from "../../regions/kv-layout.ts";
import { wordsOf } from "../../schema/row.ts";
import { labelList } from "../trace/label-lists.ts";
import { evictedNs, type KvRows, type KvTensor, rowNumber } from "./kv-lifecycle.ts";
import type { TokenList } from "./token-list.ts";

const TABLE = "kv_block_lifecycle";
const PAGE_BYTES = 4096;
const GROUP_ROWS = 1 << 17;
/** Rows until what encoding them left behind is collected. */
const COLLECT_AFTER = 2 * GROUP_ROWS;
const WORD = 2 ** 32;
const EVIDENCE = wordsOf(TABLE, "evidence");
const ENDS = wordsOf(TABLE, "ended_by");

const ZERO = twoWords(0n);

/** Rows of a 64-bit column, some without a value. */
function wideColumn(rows: number) {
  const data = new BigInt64Array(rows);
  const words = new Uint32Array(data.buffer);
  const valid = new Uint8Array(rows);
  return {
    data,
    valid,
    /** Sets `base + offset`; a row that is not set has no value. */
    set(row: number, { low, high }: TwoWords, offset: number): void {
      const sum = low + offset;
      const carry = Math.floor(sum / WORD);
      words[2 * row] = sum - carry * WORD;
      words[2 * row + 1] = high + carry;
      valid[row] = 1;
    },
  };
}

const listed = (values: readonly (string | number | null)[]) => {
  const list = labelList<string | number>();
  for (const value of values) list.push(value);
  return list;
};

/** What follows from the token alone, by its place behind `from`. */
function tokenColumns(tokens: TokenList, from: number, until: number, originNs: bigint) {
  const places = Uint32Array.from({ length: until - from }, (_, i) => from + i);
  const everyToken = Array.from(places, (_, i) => i);
  const time = (ns: number | null): bigint => (ns === null ? 0n : originNs + BigInt(Math.round(ns)));
  const wide = (read: (place: number) => bigint) => ({
    codes: everyToken,
    values: BigInt64Array.from(places, (_, i) => read(from + i)),
  });
  const texts = (read: (place: number) => string | null) => {
    const list = labelList<string>();
    for (const place of places) list.push(read(place));
    return { codes: list.codes, values: list.values };
  };
  const codes = (code: (place: number, i: number) => number) => Array.from(places, code);
  const codeOf = (value: unknown, i: number): number => (value === null ? NULL_CODE : i);
  const { origin } = tokens;
  return {
    write_ns: wide((place) => time(tokens.write_ns(place))),
    last_read_ns: wide((place) => time(tokens.last_read_ns(place))),
    total_reads: wide((place) => BigInt(tokens.total_reads(place))),
    moves: wide((place) => BigInt(origin(place).is_moved === true ? tokens.total_reads(place) : 0)),
    pid: { codes: everyToken, values: places.map((place) => origin(place).pid) },
    position: {
      codes: codes((place, i) => codeOf(tokens.position(place), i)),
      values: Int32Array.from(places, (place) => tokens.position(place) ?? 0),
    },
    context: texts((place) => origin(place).context),
    sequence_id: {
      codes: codes((place, i) => codeOf(origin(place).sequence, i)),
      values: Int32Array.from(places, (place) => origin(place).sequence ?? 0),
    },
    shared_with: texts(othersIn(tokens)),
    requests: texts(tokens.requests),
    ended_by: {
      codes: codes((place) => {
        const end = tokens.end(place);
        return end === null ? NULL_CODE : ENDS.indexOf(end.by);
      }),
      values: ENDS,
    },
    left_prefix_cache: {
      codes: codes((place, i) => codeOf(tokens.end(place)?.left_prefix_cache ?? null, i)),
      values: Uint8Array.from(places, (place) => Number(tokens.end(place)?.left_prefix_cache ?? null)),
    },
    filling: { codes: everyToken, values: places.map((place) => origin(place).filling) },
  };
}

/** The other sequences of a token as text, which tokens that follow each other often have in common. */
function othersIn({ shared_with }: TokenList): (place: number) => string | null {
  let last: { readonly others: readonly number[]; readonly text: string } | null = null;
  return (place) => {
    const others = shared_with(place);
    if (others.length === 0) return null;
    if (last?.others !== others) last = { others, text: JSON.stringify(others) };
    return last.text;
  };
}

/** What follows from the tensor alone. */
function tensorColumns(tensors: readonly KvTensor[]) {
  const layers = listed(tensors.map(({ layer }) => layer));
  const names = listed(tensors.map(({ name }) => name));
  return {
    layer: { codes: layers.codes, values: Int32Array.from(layers.values, Number) },
    tensor: { codes: names.codes, values: names.values.map(String) },
    size_bytes: {
      codes: tensors.map((_, i) => i),
      values: BigInt64Array.from(tensors, ({ row_bytes }) => BigInt(Math.round(row_bytes))),
    },
  };
}

function keyedBy(key: RowKeys, columns: Record<string, Omit<KeyedColumn, "key">>): Record<string, KeyedColumn> {
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, { key, ...column }]));
}

/** Some rows of the table that follow each other: tokens and tensors by their positions. */
interface RowGroup {
  /** Number of the first of them. */
  readonly first: number;
  readonly token: Uint32Array;
  readonly tensor: Uint32Array;
}

/** The rows whose write was seen, in groups of GROUP_ROWS; the arrays are good until the next one. */
function* rowGroups({ tokens, rooms, roomOf }: KvRows): Generator<RowGroup, void, void> {
  const token = new Uint32Array(GROUP_ROWS);
  const tensor = new Uint32Array(GROUP_ROWS);
  let first = 1;
  let n = 0;
  for (let t = 0; t < tokens.length; t++) {
    if (!tokens.origin(t).is_written) continue;
    for (const k of rooms[roomOf[t] as number] ?? []) {
      token[n] = t;
      tensor[n] = k;
      n += 1;
      if (n < GROUP_ROWS) continue;
      yield { first, token, tensor };
      first += n;
      n = 0;
    }
  }
  if (n > 0) yield { first, token: token.subarray(0, n), tensor: tensor.subarray(0, n) };
}

/** Columns of their own. */
function rowColumns(rows: KvRows, { first, token: tokenOf, tensor: tensorOf }: RowGroup, originNs: bigint) {
  const n = tokenOf.length;
  const columns = {
    block_id: wideColumn(n),
    address: wideColumn(n),
    address_page: wideColumn(n),
    evict_ns: wideColumn(n),
    lifetime_ns: wideColumn(n),
  };
  const addrOf = rows.tensors.map(({ addr }) => twoWords(addr));
  const origin = twoWords(originNs);
  const { tokens } = rows;
  for (let i = 0; i < n; i++) {
    const token = tokenOf[i] as number;
    const tensor = rows.tensors[tensorOf[i] as number] as KvTensor;
    columns.block_id.set(i, ZERO, first + i);
    const offset = rowOffset(tensor, tokens.cell(token));
    if (offset !== null) {
      const addr = addrOf[tensorOf[i] as number] as TwoWords;
      columns.address.set(i, addr, offset);
      const page = Math.floor((addr.low + offset) / PAGE_BYTES) + addr.high * (WORD / PAGE_BYTES);
      columns.address_page.set(i, ZERO, page);
    }
    const evict_ns = evictedNs(tokens.evict_ns(token), tensor);
    if (evict_ns !== null) columns.evict_ns.set(i, origin, Math.round(evict_ns));
    const write_ns = tokens.write_ns(token);
    const end_ns = evict_ns ?? tokens.last_read_ns(token) ?? write_ns;
    columns.lifetime_ns.set(i, ZERO, Math.round(end_ns - write_ns));
  }
  return columns;
}

/**
 * Writes the rows whose write was seen, numbered from 1; a last read of 0 says never.
 * @throws MrmTraceError failure where the file cannot be written
 */
export function writeKvLifecycle(runDir: string, rows: KvRows, originNs: bigint): void {
  const ofTensor = tensorColumns(rows.tensors);
  using file = openParquetWriter(join(runDir, `${TABLE}.parquet`), TABLE);
  const written = collectAfter(COLLECT_AFTER);
  for (const group of rowGroups(rows)) {
    const { token, tensor } = group;
    const n = token.length;
    const from = token[0] as number;
    const ofToken = tokenColumns(rows.tokens, from, (token[n - 1] as number) + 1, originNs);
    file.add({
      table: TABLE,
      rows: n,
      columns: {
        ...rowColumns(rows, group, originNs),
        ...keyedBy(
          rowKeys(
            token.map((t) => t - from),
            n,
          ),
          ofToken,
        ),
        ...keyedBy(rowKeys(tensor, n), ofTensor),
        evidence: {
          codes: token.map((t, i) => (rows.confirmed.has(rowNumber(rows, t, tensor[i] as number)) ? 1 : 0)),
          values: EVIDENCE,
        },
      },
    });
    written(n);
  }
  file.finish();
}
