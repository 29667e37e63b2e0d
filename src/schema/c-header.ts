/** The C header that the kernel programs share with the reader, from the tables with ring columns. */

import { createHash } from "node:crypto";
import { type Column, columnsOf, TABLES, type TableName } from "./columns.ts";
import { recordStructs } from "./records.ts";
import { numberDefines } from "./shared-numbers.ts";

/** Rows of one block. Its columns are copied one by one: with 256 rows a row costs a quarter more. */
export const BLOCK_ROWS = 1024;
/** Bytes of the header that every block begins with. */
export const BLOCK_HEADER_BYTES = 64;

/** Words of the control block of one CPU's ring: producer and consumer words on cache lines of their own. */
export const RING_CONTROL = { head: 0, n: 8, drop: 16, seq: 24, slot: 32, tail: 64, bytes: 128 } as const;

const WIDTH: Record<string, number> = { u64: 8, u32: 4, u16: 2, u8: 1 };

export interface RingColumn {
  readonly name: string;
  readonly type: string;
  /** Bytes of one value. */
  readonly width: number;
  /** Offset of the column in a block. */
  readonly offset: number;
}

export interface RingLayout {
  readonly table: TableName;
  readonly columns: readonly RingColumn[];
  /** Bytes of one block, header included. */
  readonly blockBytes: number;
}

const layouts = new Map<TableName, RingLayout>();

/** Where each ring column of a table lies in a block: wide columns first, so that every column is aligned. */
export function ringLayout(table: TableName): RingLayout {
  const existing = layouts.get(table);
  if (existing !== undefined) return existing;
  const layout = layOut(table);
  layouts.set(table, layout);
  return layout;
}

function layOut(table: TableName): RingLayout {
  const width = (column: Column) => WIDTH[column.type] ?? 8;
  const ringColumns = columnsOf(table).filter((column) => column.ring);
  const sorted = [...ringColumns].sort((a, b) => width(b) - width(a));
  let offset = BLOCK_HEADER_BYTES;
  const columns = sorted.map((column) => {
    const placed = { name: column.name, type: column.type, width: width(column), offset };
    offset += placed.width * BLOCK_ROWS;
    return placed;
  });
  return { table, columns, blockBytes: offset };
}

/** Tables that have ring columns, in table order. */
export function ringTables(): TableName[] {
  return (Object.keys(TABLES) as TableName[]).filter((table) => columnsOf(table).some((column) => column.ring));
}

/** Text of bpf/columns.gen.h. */
export function cHeader(): string {
  const out = [
    "/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */",
    "/* Generated from src/schema by `bun run generate`; do not edit. */",
    "#ifndef MRM_COLUMNS_GEN_H",
    "#define MRM_COLUMNS_GEN_H",
    "",
    `#define BLOCK_ROWS ${BLOCK_ROWS}`,
    "",
    "struct block_header {",
    "\t__u64 seq;     /* position of the block in its ring */",
    "\t__u64 n;       /* rows when closed */",
    "\t__u64 t0;      /* timestamp of the first row */",
    "\t__u64 drop;    /* rows refused on this ring when it closed */",
    "\t__u64 pad[4];",
    "};",
    "",
    "struct ring_control {",
    "\t__u64 head; /* blocks ever published */",
    "\t__u64 n;    /* rows in the open block */",
    "\t__u64 drop; /* rows refused: the ring was full */",
    "\t__u64 seq;  /* attempts, counted before anything can fail */",
    "\t__u64 slot; /* where the open block lies: head modulo the blocks of the ring */",
    "\t__u64 pad[3];",
    "\t__u64 tail; /* blocks released by the reader */",
    "\t__u64 pad2[7];",
    "};",
    `_Static_assert(sizeof(struct ring_control) == ${RING_CONTROL.bytes}, "ring_control size");`,
    `_Static_assert(__builtin_offsetof(struct ring_control, tail) == ${RING_CONTROL.tail}, "ring_control.tail");`,
  ];
  for (const table of ringTables()) {
    const layout = ringLayout(table);
    out.push("", `struct ${table}_block {`, "\tstruct block_header header;");
    for (const column of layout.columns) out.push(`\t__${column.type} ${column.name}[BLOCK_ROWS];`);
    out.push("};");
    out.push(`_Static_assert(sizeof(struct ${table}_block) == ${layout.blockBytes}, "${table}_block size");`);
    for (const column of layout.columns) {
      out.push(
        `_Static_assert(__builtin_offsetof(struct ${table}_block, ${column.name}) == ${column.offset}, "${table}.${column.name}");`,
      );
    }
  }
  out.push(...numberDefines(), ...recordStructs());
  // scripts/build-bpf gives the mark; whoever only looks whether a program compiles needs none.
  out.push(
    "",
    "#ifdef HEADER_MARK",
    'static const char header_mark[] __attribute__((section("mrm.header"), used)) = HEADER_MARK;',
    "#endif",
  );
  out.push("", "#endif", "");
  return out.join("\n");
}

/** Text that every object has which was compiled with this header, and no other one: it has the SHA-256 of the header. */
export function headerMark(): string {
  return `mrm-trace header ${createHash("sha256").update(cHeader()).digest("hex")}`;
}
