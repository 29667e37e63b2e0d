/** The script that compiles the BPF objects: which of them it makes anew. */
import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasThisHeader } from "../../../src/kernel/bpf-object-files.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const tree = mkdtempSync(join(tmpdir(), "mrm-build-"));
afterAll(() => rmSync(tree, { recursive: true }));

test("an object of another source is compiled anew though it is newer than all sources, and one of these is left", async () => {
  for (const path of ["scripts/build-bpf", "bpf/pids.bpf.c", "bpf/ids.h", "bpf/columns.gen.h", "bpf/vmlinux.h"])
    cpSync(join(ROOT, path), join(tree, path));
  mkdirSync(join(tree, "dist", "bpf"), { recursive: true });
  const object = join(tree, "dist", "bpf", "pids.bpf.o");
  const build = () => Bun.spawn(["bash", join(tree, "scripts/build-bpf")], { stderr: "inherit" }).exited;
  const later = new Date(Date.now() + 60_000);
  writeFileSync(object, "of a work tree that was copied");
  utimesSync(object, later, later);
  expect(await build()).toBe(0);
  const built = readFileSync(object);
  expect(hasThisHeader(built)).toBe(true);
  writeFileSync(object, Buffer.concat([built, Buffer.from("kept")]));
  utimesSync(object, later, later);
  expect(await build()).toBe(0);
  expect(readFileSync(object).subarray(-4).toString()).toBe("kept");
});
