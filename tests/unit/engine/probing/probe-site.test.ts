import { expect, test } from "bun:test";
import { type ProbeSite, probeSite } from "../../../../src/engine/probing/probe-site.ts";

const ENDBR64 = [0xf3, 0x0f, 0x1e, 0xfa];
const PUSH_RBP = [0x55];
const PUSH_R15 = [0x41, 0x57];
const MOV = [0x48, 0x89, 0xf8];

const siteAt = (offset: number, but: Partial<ProbeSite> = {}): ProbeSite => ({
  offset: BigInt(offset),
  isStepped: false,
  isRealigned: false,
  ...but,
});

/** A file with this code at 64. */
function siteOf(code: readonly number[], returns = false, arch = "x64") {
  const bytes = Uint8Array.from([...new Array<number>(64).fill(0xcc), ...code]);
  const slice = (offset: number, size: number): Uint8Array => bytes.subarray(offset, offset + size);
  return probeSite({ length: bytes.length, slice }, 64n, returns, arch);
}

test.each([
  ["push rbp", PUSH_RBP],
  ["push r15", PUSH_R15],
])("a function that begins with endbr64 is probed at the %s behind it", (_, push) => {
  for (const returns of [true, false]) expect(siteOf([...ENDBR64, ...push, ...MOV], returns)).toEqual(siteAt(68));
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
  expect(siteOf([...code, ...MOV])).toEqual(siteAt(64));
});

test.each([
  ["mov", MOV],
  ["test of two registers and a jump", [0x48, 0x85, 0xf7, 0x74, 0x08]],
  ["test of memory and a jump", [0x48, 0x85, 0x3f, 0x74, 0x08]],
  ["test and no jump", [0x48, 0x85, 0xff, ...MOV]],
  ["test and a push", [0x48, 0x85, 0xff, ...PUSH_RBP]],
  ["endbr64 and no push", [...ENDBR64, ...MOV]],
  ["endbr64, xor of an argument and a push", [...ENDBR64, 0x31, 0xff, ...PUSH_RBP]],
  ["pop r8", [0x41, 0x58]],
  ["the end of the file", []],
  ["endbr64 at the end of the file", ENDBR64],
])("one that begins with %s is probed at its begin, and counts as stepped over", (_, code) => {
  expect(siteOf(code)).toEqual(siteAt(64, { isStepped: true }));
});

test.each([
  ["rdi", [0x48, 0x85, 0xff, 0x74, 0x08], 67],
  ["esi", [0x85, 0xf6, 0x0f, 0x84, 1, 2, 3, 4], 66],
  ["rdi behind endbr64", [...ENDBR64, 0x48, 0x85, 0xff, 0x75, 0x08], 71],
])("one that begins with a test of %s is probed at the jump behind it", (_, code, behind) => {
  expect(siteOf(code)).toEqual(siteAt(behind));
  expect(siteOf(code, true)).toEqual(siteAt(behind));
});

const ALIGN_32 = [0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xe0];
const ALIGN_64 = [...ALIGN_32.slice(0, -1), 0xc0];
const PUSH_RETURN = [0x41, 0xff, 0x72, 0xf8];
const VMOVQ = [0xc4, 0xe1, 0xf9, 0x6e, 0xc2];

test.each([
  ["32 bytes", [...ALIGN_32, ...PUSH_RETURN], 77],
  ["64 bytes", [...ALIGN_64, ...PUSH_RETURN], 77],
  ["32 bytes, with a move in between", [...ALIGN_32, ...VMOVQ, ...PUSH_RETURN], 82],
  ["32 bytes, behind endbr64", [...ENDBR64, ...ALIGN_32, ...PUSH_RETURN], 81],
])("one that aligns its stack to %s is probed behind that, and at its begin for its return", (_, code, behind) => {
  expect(siteOf([...code, ...PUSH_RBP])).toEqual(siteAt(behind, { isRealigned: true }));
  expect(siteOf([...code, ...PUSH_RBP], true)).toEqual(siteAt(64, { isStepped: true }));
  expect(siteOf([...code, ...MOV])).toEqual(siteAt(64, { isStepped: true }));
});

test("on another processor a function is probed at its begin", () => {
  expect(siteOf([...ENDBR64, ...PUSH_RBP], false, "arm64")).toEqual(siteAt(64));
});
