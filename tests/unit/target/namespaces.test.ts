import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { namespaceFacts, refusalOfBpf, refusalOfProc } from "../../../src/target/namespaces.ts";

/** A /proc in which the process that asks has the number 7. */
function proc(pids: string, uidMap: string): string {
  const root = mkdtempSync(join(tmpdir(), "mrm-proc-"));
  mkdirSync(join(root, "7/ns"), { recursive: true });
  symlinkSync("7", join(root, "self"));
  symlinkSync(pids, join(root, "7/ns/pid"));
  writeFileSync(join(root, "7/uid_map"), uidMap);
  return root;
}

const HOST = ["pid:[4026531836]", "         0          0 4294967295\n"] as const;

test("on the host nothing is refused", () => {
  const facts = namespaceFacts(proc(...HOST), 7);
  expect(facts).toEqual({ initial_pid_namespace: true, initial_user_namespace: true, own_proc: true });
  expect([refusalOfBpf(facts), refusalOfProc(facts)]).toEqual([null, null]);
});

test("pids of a container are a fact, and refuse nothing", () => {
  const facts = namespaceFacts(proc("pid:[4026532999]", HOST[1]), 7);
  expect(facts.initial_pid_namespace).toBe(false);
  expect([refusalOfBpf(facts), refusalOfProc(facts)]).toEqual([null, null]);
});

test("root of a user namespace is refused by name", () => {
  const facts = namespaceFacts(proc(HOST[0], "         0       1000          1\n"), 7);
  expect(refusalOfBpf(facts)?.reason).toContain("user namespace");
});

test("a /proc in which we have another number is refused", () => {
  expect(refusalOfProc(namespaceFacts(proc(...HOST), 8))?.reason).toContain("other processes");
});

test("what is not known refuses nothing", () => {
  const facts = namespaceFacts("/nonexistent", 7);
  expect(facts).toEqual({ initial_pid_namespace: null, initial_user_namespace: null, own_proc: null });
  expect([refusalOfBpf(facts), refusalOfProc(facts)]).toEqual([null, null]);
});
