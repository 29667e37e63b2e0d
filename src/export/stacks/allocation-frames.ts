/** The stacks of allocations: ids as memray's capture numbers them, to frames. */
import { basename } from "node:path";
import type { RowOf } from "../../schema/row.ts";
import type { RunSource } from "../run-source.ts";
import type { Frame } from "./stack.ts";

interface Node {
  readonly frame: Frame;
  readonly parent: number | null;
}

/** Deeper stacks are cut at their outermost frames: a capture that was tampered with may go round in a circle. */
const MOST_FRAMES = 4096;

function frameOf({ kind, file, line, ...row }: RowOf<"allocation_stack">): Frame {
  if (kind === "python") return { function: row.function ?? "[unknown]", file: file ?? "", line };
  const name = file === null ? "[unknown]" : `[${basename(file)}]`;
  const offset = row.object_offset_bytes;
  return { function: offset === null ? name : `${name}+0x${offset.toString(16)}`, file: file ?? "", line: null };
}

const keyOf = (pid: number, kind: string): string => `${pid}/${kind}`;

/**
 * Gives the frames of a stack, outermost first: those of Python where there are any, else the native ones.
 * Holds a frame for each row of allocation_stack.
 */
export function allocationFrames(run: RunSource) {
  const tables = new Map<string, Map<number, Node>>();
  const frames = new Map<string, Frame>();
  for (const row of run.rows("allocation_stack")) {
    const table = tables.get(keyOf(row.pid, row.kind)) ?? new Map<number, Node>();
    tables.set(keyOf(row.pid, row.kind), table);
    const made = frameOf(row);
    const key = `${made.function}\0${made.file}\0${made.line}`;
    const frame = frames.get(key) ?? made;
    frames.set(key, frame);
    table.set(row.stack_id, { frame, parent: row.parent_id });
  }
  return (pid: number, stackId: number | null, nativeId: number | null): readonly Frame[] => {
    const table = tables.get(keyOf(pid, stackId === null ? "native" : "python"));
    const found: Frame[] = [];
    for (let id = stackId ?? nativeId; id !== null && found.length < MOST_FRAMES; ) {
      const node = table?.get(id);
      if (node === undefined) break;
      found.push(node.frame);
      id = node.parent;
    }
    return found.reverse();
  };
}
