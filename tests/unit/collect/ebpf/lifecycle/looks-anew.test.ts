import { expect, test } from "bun:test";
import { looksAnew } from "../../../../../src/collect/ebpf/lifecycle/looks-anew.ts";

const MS = 1_000_000n;

test("who was never looked at is looked at once, at once", () => {
  const looks = looksAnew();
  looks.ask(5);
  looks.ask(5);
  expect([looks.waits(), looks.take(1n), looks.waits(), looks.take(2n)]).toEqual([true, [5], false, []]);
});

test("who was looked at lately waits for 50 ms, and for 20 times what the look took", () => {
  const looks = looksAnew();
  looks.looked(5, 0n, MS);
  looks.looked(6, 0n, 10n * MS);
  for (const pid of [5, 6]) looks.ask(pid);
  expect(looks.take(51n * MS - 1n)).toEqual([]);
  expect(looks.take(51n * MS)).toEqual([5]);
  expect(looks.take(210n * MS - 1n)).toEqual([]);
  expect(looks.take(210n * MS)).toEqual([6]);
});

test("who takes long is looked at once a second all the same", () => {
  const looks = looksAnew();
  looks.looked(5, 0n, 400n * MS);
  looks.ask(5);
  expect([looks.take(1400n * MS - 1n), looks.take(1400n * MS)]).toEqual([[], [5]]);
});

test("of many that ask, 16 are looked at in one go and the others after them", () => {
  const looks = looksAnew();
  for (let pid = 0; pid < 20; pid++) looks.ask(pid);
  expect([looks.take(1n).length, looks.take(1n).length]).toEqual([16, 4]);
});

test("who has ended is not looked at", () => {
  const looks = looksAnew();
  looks.ask(5);
  looks.forget(5);
  expect(looks.take(1n)).toEqual([]);
});
