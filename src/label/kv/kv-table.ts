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
import type { KvToken } from "./kv-token.ts";

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

/** What follows from the token alone, by its position in `tokens`. */
function tokenColumns(tokens: readonly KvToken[], originNs: bigint) {
  const time = (ns: number | null): bigint => (ns === null ? 0n : originNs + BigInt(Math.round(ns)));
  const everyToken = tokens.map((_, i) => i);
  const position = tokens.map((token, i) => (token.position === null ? NULL_CODE : i));
  const contexts = listed(tokens.map(({ context }) => context));
  const requests = listed(tokens.map((token) => token.requests));
  const others = listed(
    tokens.map(({ shared_with }) => (shared_with.length === 0 ? null : JSON.stringify(shared_with))),
  );
  const found = tokens.map(({ end }) => end?.left_prefix_cache ?? null);
  const sequence = tokens.map((token, i) => (token.sequence === null ? NULL_CODE : i));
  const wide = (read: (token: KvToken) => bigint) => ({
    codes: everyToken,
    values: BigInt64Array.from(tokens, read),
  });
  return {
    write_ns: wide((token) => time(token.write_ns)),
    last_read_ns: wide((token) => time(token.last_read_ns)),
    total_reads: wide((token) => BigInt(token.total_reads)),
    moves: wide(({ is_moved, total_reads }) => BigInt(is_moved === true ? total_reads : 0)),
    pid: { codes: everyToken, values: Uint32Array.from(tokens, ({ pid }) => pid) },
    position: { codes: position, values: Int32Array.from(tokens, (token) => token.position ?? 0) },
    context: { codes: contexts.codes, values: contexts.values.map(String) },
    sequence_id: { codes: sequence, values: Int32Array.from(tokens, (token) => token.sequence ?? 0) },
    shared_with: { codes: others.codes, values: others.values.map(String) },
    requests: { codes: requests.codes, values: requests.values.map(String) },
    ended_by: { codes: tokens.map(({ end }) => (end === null ? NULL_CODE : ENDS.indexOf(end.by))), values: ENDS },
    left_prefix_cache: {
      codes: found.map((value, i) => (value === null ? NULL_CODE : i)),
      values: Uint8Array.from(found, Number),
    },
    filling: { codes: everyToken, values: Uint32Array.from(tokens, ({ filling }) => filling) },
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
    if (!tokens[t]?.is_written) continue;
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
  for (let i = 0; i < n; i++) {
    const token = rows.tokens[tokenOf[i] as number] as KvToken;
    const tensor = rows.tensors[tensorOf[i] as number] as KvTensor;
    columns.block_id.set(i, ZERO, first + i);
    const offset = rowOffset(tensor, token.cell);
    if (offset !== null) {
      const addr = addrOf[tensorOf[i] as number] as TwoWords;
      columns.address.set(i, addr, offset);
      const page = Math.floor((addr.low + offset) / PAGE_BYTES) + addr.high * (WORD / PAGE_BYTES);
      columns.address_page.set(i, ZERO, page);
    }
    const evict_ns = evictedNs(token, tensor);
    if (evict_ns !== null) columns.evict_ns.set(i, origin, Math.round(evict_ns));
    const end_ns = evict_ns ?? token.last_read_ns ?? token.write_ns;
    columns.lifetime_ns.set(i, ZERO, Math.round(end_ns - token.write_ns));
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
    const ofToken = tokenColumns(rows.tokens.slice(from, (token[n - 1] as number) + 1), originNs);
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
