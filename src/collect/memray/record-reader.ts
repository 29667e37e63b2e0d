/** Decodes a capture record by record: allocations into chunks, everything else into the state they are read with. */
import type { Batch } from "../../columnar/batch.ts";
import { collectAfter } from "../../columnar/collect-after.ts";
import { openCallTree, openThreadStacks } from "./call-tree.ts";
import type { StackCounts } from "./capture-summary.ts";
import { allocatorNumbering } from "./format/allocator.ts";
import { type CaptureFile, recordsIn } from "./format/capture-file.ts";
import { initialState } from "./format/decode-state.ts";
import { decodeNibbleRecords } from "./format/nibble-records.ts";
import { decodePrefixRecords } from "./format/prefix-records.ts";
import { parseNibbleRare, parsePrefixRare, type RareRecord } from "./format/rare-records.ts";
import { CHUNK_RECORDS, emptyChunk, type RecordChunk } from "./format/record-chunk.ts";
import { openFrameNames } from "./frame-names.ts";
import { openNativeObjects } from "./native-objects.ts";
import { openStackRows } from "./stack-rows.ts";
import { openThreadNames } from "./thread-names.ts";

/** Chunks that may wait for the next two memory records: 400,000 records in 12 MB. */
const MAX_CHUNKS = 24;
/** New frames that may wait with them. */
const MAX_FRAMES = 1 << 16;
/** Records of these kinds until what parsing them left behind is collected. */
const COLLECT_AFTER = 1 << 17;

/** Why decoding stopped: chunks are full, a memory record came, or the capture is over. */
export type ReaderStop =
  | { readonly kind: "full" }
  | { readonly kind: "memory"; readonly ms: number; readonly rss: number }
  | { readonly kind: "trailer"; readonly unreadBytes: number }
  | { readonly kind: "cut" | "damaged"; readonly why: string; readonly unreadBytes: number };

export interface RecordReader {
  /** Decodes on until the chunks have to be taken. */
  next(): ReaderStop;
  /** What was decoded before the last memory record and not yet released, in order. */
  ended(): readonly RecordChunk[];
  /** What was decoded after it, in order. */
  open(): readonly RecordChunk[];
  /** Gives the chunks of `ended()` back; those of `open()` take their place, and what is decoded now is the open one. */
  release(): void;
  /** New stacks; with `all`, the last of them. */
  stackRows(all: boolean): Iterable<Batch<"allocation_stack">>;
  threadName(thread: number): string | null;
  counts(): StackCounts;
}

/**
 * A reader behind the header of `file`.
 * @param nowNs time that new stacks are marked with
 */
export function openRecordReader(file: CaptureFile, nowNs: () => number): RecordReader {
  const { header, window, cursor } = file;
  const isNibble = header.version < 12;
  const names = openFrameNames(header.pythonVersion ?? 0);
  const objects = openNativeObjects();
  const threads = openThreadNames();
  const rows = openStackRows(header.pid, names, objects);
  const tree = openCallTree((node, parent, frame, instruction) =>
    rows.python(node, parent, frame, instruction, nowNs()),
  );
  const state = initialState({
    tree,
    stacks: openThreadStacks(),
    numbering: allocatorNumbering(header.version),
    nativeTraces: header.nativeTraces,
  });
  state.stacks.select(0);
  const decode = isNibble ? decodeNibbleRecords : decodePrefixRecords;
  const parse = isNibble
    ? parseNibbleRare
    : (fields: Parameters<typeof parseNibbleRare>[0]) => parsePrefixRare(fields, header.nativeTraces);
  const chunkRecords = recordsIn(file, CHUNK_RECORDS);
  const free: RecordChunk[] = [];
  let ended: RecordChunk[] = [];
  let open = [emptyChunk(chunkRecords)];
  const parsed = collectAfter(COLLECT_AFTER);
  let nativeFrames = 0;
  let objectRecords = 0;

  const unread = (): number => window.end - window.pos;
  const here = (): string => `byte ${window.before + window.pos}${file.compressed ? " of the content" : ""}`;
  function over(kind: "cut" | "damaged"): ReaderStop {
    const why =
      file.problem() ??
      (kind === "cut" ? `it ends inside a record, at ${here()}` : `a record that cannot be, at ${here()}`);
    return { kind, why, unreadBytes: unread() };
  }

  /** Skips zeros; false where nothing follows them. */
  function skipPadding(): boolean {
    for (;;) {
      const { bytes, end } = window;
      let { pos } = window;
      while (pos < end && bytes[pos] === 0) pos += 1;
      window.pos = pos;
      if (pos < end) return true;
      if (window.last || !window.fill(1)) return false;
    }
  }

  /** Applies a record; true where it was one that the caller must see. */
  function apply(record: RareRecord): ReaderStop | null {
    switch (record.kind) {
      case "trailer":
        // Only zeros stand behind it: anything else means that a damaged byte was taken for it.
        if (!skipPadding()) return { kind: "trailer", unreadBytes: 0 };
        return { kind: "damaged", why: `more behind its last record, at ${here()}`, unreadBytes: unread() };
      case "memory":
        return { kind: "memory", ms: record.ms, rss: record.rss };
      case "padding":
        skipPadding();
        return null;
      case "objects":
        objects.clear();
        return null;
      case "segments":
        for (const segment of record.segments) objects.add(segment);
        return null;
      case "thread":
        state.thread = record.thread;
        state.stacks.select(record.thread);
        return null;
      case "thread_name":
        threads.set(state.thread, record.name);
        return null;
      case "code":
        state.line += record.lineDelta;
        names.add(record.id, {
          name: record.name,
          file: record.file,
          firstLine: state.line,
          lineTable: record.lineTable,
        });
        return null;
      case "frame":
        state.frame += record.idDelta;
        state.line += record.lineDelta;
        names.add(state.frame, { name: record.name, file: record.file, firstLine: state.line, lineTable: null });
        return null;
      case "native":
        return applyNative(record);
      case "object":
        objectRecords += 1;
        return applyObject(record);
    }
  }

  function applyNative({ instructionDelta, parentDelta }: RareRecord & { kind: "native" }): ReaderStop | null {
    const instruction = state.instructionPointer + instructionDelta;
    const parent = state.nativeFrame + parentDelta;
    // A frame names one before it: whoever follows parents comes to an end.
    if (!isExact(instruction) || !(parent >= 0 && parent <= nativeFrames)) return over("damaged");
    state.instructionPointer = instruction;
    state.nativeFrame = parent;
    nativeFrames += 1;
    rows.native(nativeFrames, parent, instruction, nowNs());
    return null;
  }

  function applyObject({ pointerDelta, nativeDelta }: RareRecord & { kind: "object" }): ReaderStop | null {
    const nativeFrame = state.nativeFrame + nativeDelta;
    const pointer = state.pointer + (pointerDelta ?? 0);
    if (!isExact(pointer) || !isExact(nativeFrame)) return over("damaged");
    state.nativeFrame = nativeFrame;
    if (pointerDelta === null) return null;
    state.pointer = pointer;
    state.recentHead = (state.recentHead - 1) & 15;
    state.recent[state.recentHead] = pointer * 8;
    return null;
  }

  return {
    threadName: (thread) => threads.get(thread),
    ended: () => ended,
    open: () => open,
    release() {
      for (const chunk of ended) chunk.count = 0;
      free.push(...ended);
      ended = open;
      open = [free.pop() ?? emptyChunk(chunkRecords)];
    },
    stackRows: (all) => rows.take(all),
    counts: () => ({
      stackOverflow: tree.overflow,
      unnamedFrames: names.overflow,
      unmatchedPops: state.unmatchedPops,
      objectRecords,
    }),
    next() {
      for (;;) {
        const chunk = open.at(-1) ?? emptyChunk(chunkRecords);
        const stop = decode(window, state, chunk);
        if (stop === "full") {
          if (ended.length + open.length === MAX_CHUNKS) return { kind: "full" };
          open.push(free.pop() ?? emptyChunk(chunkRecords));
        } else if (stop === "bytes") {
          if (window.last && unread() <= 0) return over("cut");
          if (!window.last) window.fill(unread() + 1);
        } else if (stop === "other") {
          const record = cursor.record(parse);
          if (!record.ok) return over(record.cut ? "cut" : "damaged");
          const outcome = apply(record.value);
          if (outcome !== null) return outcome;
          if (rows.waiting >= MAX_FRAMES) return { kind: "full" };
          parsed(1);
        } else {
          return over(stop);
        }
      }
    },
  };
}

const isExact = (value: number): boolean => value >= 0 && value <= Number.MAX_SAFE_INTEGER;
