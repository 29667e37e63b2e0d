import { afterEach, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mappedFile } from "../../../src/collect/ebpf/engine/mapped-file.ts";
import { snapshotRows } from "../../../src/collect/ebpf/lifecycle/maps-look.ts";
import { childrenOfTests } from "../../fixtures/children-of-tests.ts";
import { waitUntil } from "../../fixtures/wait-until.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-mapped-"));
const path = join(folder, "program");
const SLEEP = Bun.which("sleep") ?? "";
const OTHER = Bun.which("true") ?? "";
const children = childrenOfTests();

afterEach(() => {
  rmSync(path, { force: true });
});

/** Starts a command that ends in `path`, and gives the executable mapping of that file. */
async function mappingOf(command: readonly string[]) {
  const child = Bun.spawn([...command], { stdout: "ignore" });
  children.push(child);
  const rows = () =>
    (snapshotRows(child.pid, 0) ?? []).flatMap((row) =>
      row.path === path && ((row.prot ?? 0) & 4) !== 0 ? [{ ...row, path }] : [],
    );
  expect(await waitUntil(() => rows().length > 0)).toBe(true);
  const [row] = rows();
  if (row === undefined) throw new Error("the mapping went away");
  return row;
}

const bytesOf = (openPath: string | undefined) => (openPath === undefined ? null : readFileSync(openPath));

describe("the file of a mapping", () => {
  test("is found by its path where that leads to it, though its range is not there any more", async () => {
    copyFileSync(SLEEP, path);
    const row = await mappingOf([path, "60"]);
    expect(mappedFile({ ...row, size_bytes: 1n })?.openPath).toBe(`/proc/${row.pid}/root${path}`);
  });

  test("is opened where its path is that of another file by now", async () => {
    copyFileSync(SLEEP, path);
    const row = await mappingOf([path, "60"]);
    rmSync(path);
    copyFileSync(OTHER, path);
    expect(bytesOf(mappedFile(row)?.openPath)).toEqual(readFileSync(SLEEP));
    // By its path alone it would be the other one.
    expect(mappedFile({ ...row, size_bytes: 1n })).toBeNull();
  });

  test("is that of the container where the host has another of the same path", async () => {
    copyFileSync(OTHER, path);
    const script = 'mount --bind "$1" "$2" && exec "$2" 60';
    const row = await mappingOf(["unshare", "--mount", "sh", "-c", script, "sh", SLEEP, path]);
    expect(bytesOf(path)).toEqual(readFileSync(OTHER));
    expect(bytesOf(mappedFile(row)?.openPath)).toEqual(readFileSync(SLEEP));
    expect(mappedFile({ ...row, size_bytes: 1n })?.openPath).toBe(`/proc/${row.pid}/root${path}`);
  });

  test("has another identity when it was made again", async () => {
    copyFileSync(SLEEP, path);
    const first = mappedFile(await mappingOf([path, "60"]));
    rmSync(path);
    copyFileSync(SLEEP, path);
    const second = mappedFile(await mappingOf([path, "60"]));
    expect(first).not.toBeNull();
    expect(second?.identity).not.toBe(first?.identity);
  });
});
