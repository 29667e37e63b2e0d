import { expect, test } from "bun:test";
import { existsSync, openSync } from "node:fs";
import { ownFd } from "../../../src/kernel/libc.ts";

const isOpen = (fd: number): boolean => existsSync(`/proc/self/fd/${fd}`);

test("a descriptor that is closed aside is closed a moment later, and not closed again when disposed", async () => {
  const file = ownFd(openSync("/dev/null", "r"));
  file.closeAside();
  for (let i = 0; i < 1000 && isOpen(file.fd); i++) await Bun.sleep(1);
  expect(isOpen(file.fd)).toBe(false);
  const next = openSync("/dev/null", "r");
  expect(next).toBe(file.fd);
  file[Symbol.dispose]();
  expect(isOpen(next)).toBe(true);
  ownFd(next)[Symbol.dispose]();
  expect(isOpen(next)).toBe(false);
});
