import { afterAll, expect, test } from "bun:test";
import { chownSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCaptureFolder } from "../../../../src/collect/memray/capture-folder.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-capture-folder-"));
const before = { ...process.env };
afterAll(() => {
  rmSync(root, { recursive: true });
  Object.assign(process.env, { SUDO_UID: before.SUDO_UID ?? "", SUDO_GID: before.SUDO_GID ?? "" });
});

const NOBODY = 65_534;

test.skipIf(process.getuid?.() !== 0)(
  "a capture of holes that the disk has no room for is left, the others are taken",
  () => {
    Object.assign(process.env, { SUDO_UID: String(NOBODY), SUDO_GID: String(NOBODY) });
    const raw = join(root, "raw");
    const captures = openCaptureFolder(raw);
    try {
      writeFileSync(captures.file, "a capture");
      const holes = `${captures.file}.7`;
      writeFileSync(holes, "");
      truncateSync(holes, 2 ** 43);
      for (const path of [captures.file, holes]) chownSync(path, NOBODY, NOBODY);
      const { paths, refused } = captures.settle();
      expect([paths, refused]).toEqual([[join(raw, "memray.bin")], ["memray.bin.7"]]);
      expect(readFileSync(join(raw, "memray.bin"), "utf8")).toBe("a capture");
      expect(statSync(join(raw, "memray.bin")).mode & 0o777).toBe(0o600);
    } finally {
      captures.dispose();
    }
  },
);
