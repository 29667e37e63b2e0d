import { describe, expect, test } from "bun:test";
import { createProcessTree } from "../../../src/target/process-tree.ts";

describe("a process tree", () => {
  test("has not ended while nothing is known of it, nor while one of its processes lives", () => {
    const tree = createProcessTree();
    expect(tree.hasEnded()).toBe(false);
    tree.begin(10);
    tree.begin(11);
    tree.end(10);
    expect([tree.hasEnded(), tree.living(), tree.lives(10)]).toEqual([false, [11], false]);
    tree.end(11);
    expect(tree.hasEnded()).toBe(true);
  });

  test("lives again where the number of a process that ended is given again, and lists it once", () => {
    const tree = createProcessTree();
    tree.begin(10);
    tree.end(10);
    tree.begin(10);
    expect([tree.hasEnded(), tree.pids()]).toEqual([false, [10]]);
  });
});
