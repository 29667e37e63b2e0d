import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { writeModel } from "../../../../src/demo/model/write-model.ts";
import { parseGguf } from "../../../../src/engine/gguf/directory.ts";
import { generalName, readGgufFile } from "../../../../src/engine/gguf/file.ts";

let folder = "";
let whole: Uint8Array = new Uint8Array();
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-hostile-"));
  const path = join(folder, "model.gguf");
  await writeModel({ params: "1m", type: "q4_0", seed: 1 }, path);
  whole = new Uint8Array(readFileSync(path));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What must hold of any directory that is accepted, whatever the bytes. */
function expectSound(bytes: Uint8Array): void {
  const result = parseGguf(bytes);
  if (!result.ok) {
    expect(result.reason).not.toBe("");
    expect(result.offset).toBeWithin(0, bytes.length + 1);
    return;
  }
  for (const tensor of result.directory.tensors) {
    expect(tensor.offset + (tensor.bytes ?? 0)).toBeLessThanOrEqual(bytes.length);
    expect(tensor.offset % result.directory.alignmentBytes).toBe(
      result.directory.dataOffset % result.directory.alignmentBytes,
    );
  }
}

function header(version: number, tensors: bigint, keyValues: bigint): Uint8Array {
  const bytes = new Uint8Array(24);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("GGUF"));
  view.setUint32(4, version, true);
  view.setBigUint64(8, tensors, true);
  view.setBigUint64(16, keyValues, true);
  return bytes;
}

describe("the GGUF directory of hostile bytes", () => {
  test("never throws on random bytes behind a good header", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 2048 }),
        fc.bigInt({ min: 0n, max: 64n }),
        fc.bigInt({ min: 0n, max: 64n }),
        (tail, tensors, keyValues) => expectSound(new Uint8Array([...header(3, tensors, keyValues), ...tail])),
      ),
      { numRuns: 500 },
    );
  });

  test("never throws on a good file with bytes changed", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(12_000), fc.nat(255)), { minLength: 1, maxLength: 8 }), (changes) => {
        const bytes = whole.slice();
        for (const [at, value] of changes) bytes[at] = value;
        expectSound(bytes);
      }),
      { numRuns: 500 },
    );
  });

  test("never throws on a good file with a 64-bit word changed to a bound", () => {
    const bounds = [0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];
    fc.assert(
      fc.property(fc.nat(12_000), fc.constantFrom(...bounds), (at, value) => {
        const bytes = whole.slice();
        new DataView(bytes.buffer).setBigUint64(at, value, true);
        expectSound(bytes);
      }),
      { numRuns: 500 },
    );
  });

  test("calls every shorter file truncated", () => {
    fc.assert(
      fc.property(fc.nat(whole.length - 1), (length) => {
        expect(parseGguf(whole.subarray(0, length)).ok).toBe(false);
      }),
      { numRuns: 300 },
    );
    expect(parseGguf(whole).ok).toBe(true);
  });

  test("refuses absurd counts at once, with little memory", () => {
    const before = process.memoryUsage().rss;
    for (const count of [2n ** 64n - 1n, 2n ** 53n, 2n ** 40n, 2n ** 31n]) {
      expect(parseGguf(header(3, count, 0n)).ok).toBe(false);
      expect(parseGguf(header(3, 0n, count)).ok).toBe(false);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20);
  });

  test("does not walk a huge array of empty strings", () => {
    const bytes = new Uint8Array(64 * 2 ** 20);
    bytes.set(header(3, 0n, 1n));
    const view = new DataView(bytes.buffer);
    view.setBigUint64(24, 1n, true);
    bytes[32] = 0x6b;
    view.setUint32(33, 9, true);
    view.setUint32(37, 8, true);
    view.setBigUint64(41, 8n * 2n ** 20n - 8n, true);
    expect(parseGguf(bytes)).toMatchObject({ ok: false, reason: expect.stringContaining("strings") });
  });

  test("refuses other versions and other files", () => {
    expect(parseGguf(header(1, 0n, 0n))).toMatchObject({ ok: false, reason: expect.stringContaining("version 1") });
    expect(parseGguf(new TextEncoder().encode("PK\u0003\u0004 not a model at all"))).toMatchObject({ ok: false });
    expect(parseGguf(new Uint8Array())).toMatchObject({ ok: false, offset: 0 });
  });

  test("shows no control character of a name in its reason", () => {
    const bytes = whole.slice();
    const at = Buffer.from(bytes).indexOf("token_embd.weight");
    bytes.set([0x1b, 0x5b], at);
    new DataView(bytes.buffer).setUint32(at + 17, 9, true);
    const result = parseGguf(bytes);
    const reason = result.ok ? "" : result.reason;
    expect(reason).toContain("dimensions");
    expect(reason).toContain("\\u001b[");
    expect(reason).not.toContain("\u001b");
  });
});

describe("the GGUF directory of a hostile file", () => {
  test("is a failure for what is no regular file, without blocking", () => {
    const pipe = join(folder, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    for (const path of [pipe, folder, "/dev/zero", join(folder, "missing")]) {
      expect(readGgufFile(path).ok).toBe(false);
      expect(generalName(path)).toBeNull();
    }
  });

  test("agrees with the bytes in memory, whole and cut", () => {
    const path = join(folder, "cut.gguf");
    writeFileSync(path, whole);
    expect(readGgufFile(path)).toEqual(parseGguf(whole));
    truncateSync(path, whole.length - 1);
    expect(readGgufFile(path)).toMatchObject({ ok: false, reason: expect.stringContaining("truncated") });
  });
});
