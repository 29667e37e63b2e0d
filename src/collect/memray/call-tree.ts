/** The tree of Python calls: a node is a frame below its parent, and a stack is the number of its last node. */
import { stackHash } from "./stack-hash.ts";

/** More distinct stacks are not told apart. */
export const MAX_NODES = 1 << 20;
/** Frames of all threads together; deeper ones are not told apart. */
const MAX_DEPTH = 1 << 18;
/** Threads with stacks of their own; those beyond it have no frames. */
const MAX_THREADS = 1 << 16;

export interface CallTree {
  /** Node of a frame below `parent`, 0 being no frame; `parent` itself where the tree is full. */
  child(parent: number, frame: number, instruction: number): number;
  readonly nodes: number;
  /** Frames that found no room. */
  readonly overflow: number;
}

/**
 * An empty tree.
 * @param onNode told of every new node, in the order of their numbers from 1
 */
export function openCallTree(
  onNode: (node: number, parent: number, frame: number, instruction: number) => void,
): CallTree {
  let slots = new Uint32Array(1 << 10);
  /** Three words for each node: parent, frame, instruction; node n from 3 n on. */
  let words = new Uint32Array(3 << 9);
  let nodes = 0;
  let overflow = 0;

  function grow(): void {
    slots = new Uint32Array(slots.length * 2);
    const wider = new Uint32Array(words.length * 2);
    wider.set(words);
    words = wider;
    const mask = slots.length - 1;
    for (let node = 1; node <= nodes; node++) {
      let slot = stackHash(words[3 * node] ?? 0, words[3 * node + 1] ?? 0, words[3 * node + 2] ?? 0) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = node;
    }
  }

  return {
    get nodes() {
      return nodes;
    },
    get overflow() {
      return overflow;
    },
    child(parent, frame, instruction) {
      const offset = instruction >>> 0;
      const mask = slots.length - 1;
      let slot = stackHash(parent, frame, offset) & mask;
      for (;;) {
        const node = slots[slot] ?? 0;
        if (node === 0) break;
        const word = 3 * node;
        if (words[word] === parent && words[word + 1] === frame && words[word + 2] === offset) return node;
        slot = (slot + 1) & mask;
      }
      if (nodes === MAX_NODES) {
        overflow += 1;
        return parent;
      }
      nodes += 1;
      slots[slot] = nodes;
      words[3 * nodes] = parent;
      words[3 * nodes + 1] = frame;
      words[3 * nodes + 2] = offset;
      const node = nodes;
      if (2 * (nodes + 2) > slots.length) grow();
      onNode(node, parent, frame, instruction);
      return node;
    },
  };
}

/** The Python stacks of the threads, as nodes of the tree. */
export interface ThreadStacks {
  /** Makes a thread the current one; a new one has no frames. */
  select(thread: number): void;
  push(node: number): void;
  /** Leaves `count` frames; false where there were fewer. */
  pop(count: number): boolean;
  /** Innermost node of the current thread, 0 without frames. */
  readonly top: number;
}

/** Empty stacks. */
export function openThreadStacks(): ThreadStacks {
  let current: number[] = [];
  const stacks = new Map<number, number[]>();
  let frames = 0;
  /** Frames beyond the limit, of the current thread: they are left again without having been kept. */
  const excess = new Map<number[], number>();
  return {
    get top() {
      return current.at(-1) ?? 0;
    },
    select(thread) {
      const existing = stacks.get(thread);
      current = existing ?? [];
      if (existing === undefined && stacks.size < MAX_THREADS) stacks.set(thread, current);
    },
    push(node) {
      if (frames >= MAX_DEPTH) {
        excess.set(current, (excess.get(current) ?? 0) + 1);
        return;
      }
      frames += 1;
      current.push(node);
    },
    pop(count) {
      const beyond = Math.min(count, excess.get(current) ?? 0);
      if (beyond > 0) excess.set(current, (excess.get(current) ?? 0) - beyond);
      const inside = Math.min(count - beyond, current.length);
      current.length -= inside;
      frames -= inside;
      return inside + beyond === count;
    },
  };
}
