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

  test("knows who lives in the memory of another: until an exec of its own, or until nobody else has that memory", () => {
    const tree = createProcessTree();
    const guests = () => tree.living().filter(tree.isGuest);
    tree.begin(10);
    tree.begin(11, 10);
    tree.begin(12, 11);
    tree.begin(13, 10);
    expect(guests()).toEqual([11, 12, 13]);
    tree.exec(12);
    expect(guests()).toEqual([11, 13]);
    tree.end(10);
    expect(guests()).toEqual([13]);
    tree.exec(11);
    expect(guests()).toEqual([]);
    tree.end(13);
    tree.begin(13);
    expect(guests()).toEqual([]);
  });
});
