import { expect, test } from "bun:test";
import { probeSite } from "../../../../src/engine/probing/probe-site.ts";

const ENDBR64 = [0xf3, 0x0f, 0x1e, 0xfa];
const PUSH_RBP = [0x55];
const PUSH_R15 = [0x41, 0x57];
const MOV = [0x48, 0x89, 0xf8];

/** A file with this code at 64. */
function siteOf(code: readonly number[], arch = "x64") {
  const bytes = Uint8Array.from([...new Array<number>(64).fill(0xcc), ...code]);
  const slice = (offset: number, size: number): Uint8Array => bytes.subarray(offset, offset + size);
  return probeSite({ length: bytes.length, slice }, 64n, arch);
}

test.each([
  ["push rbp", PUSH_RBP],
  ["push r15", PUSH_R15],
])("a function that begins with endbr64 is probed at the %s behind it", (_, push) => {
  expect(siteOf([...ENDBR64, ...push, ...MOV])).toEqual({ offset: 68n, isStepped: false });
});

test.each([
  ["push rbp", PUSH_RBP],
  ["push r12", [0x41, 0x54]],
  ["a jump", [0xe9, 1, 2, 3, 4]],
  ["a short jump", [0xeb, 1]],
  ["a jump on a condition", [0x74, 1]],
  ["a far jump on a condition", [0x0f, 0x84, 1, 2, 3, 4]],
  ["a call", [0xe8, 1, 2, 3, 4]],
  ["nop", [0x90]],
])("one that begins with %s is probed at its begin, which the kernel carries out", (_, code) => {
  expect(siteOf([...code, ...MOV])).toEqual({ offset: 64n, isStepped: false });
});

test.each([
  ["mov", MOV],
  ["test and a jump", [0x48, 0x85, 0xff, 0x74, 0x08]],
  ["endbr64 and no push", [...ENDBR64, ...MOV]],
  ["endbr64, xor of an argument and a push", [...ENDBR64, 0x31, 0xff, ...PUSH_RBP]],
  ["pop r8", [0x41, 0x58]],
  ["the end of the file", []],
  ["endbr64 at the end of the file", ENDBR64],
])("one that begins with %s is probed at its begin, and counts as stepped over", (_, code) => {
  expect(siteOf(code)).toEqual({ offset: 64n, isStepped: true });
});

test("on another processor a function is probed at its begin", () => {
  expect(siteOf([...ENDBR64, ...PUSH_RBP], "arm64")).toEqual({ offset: 64n, isStepped: false });
});
