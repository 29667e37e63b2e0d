import { expect, test } from "bun:test";
import { programAnswer } from "../../../src/target/program-answer.ts";

const ask = (script: string, patienceMs: number) =>
  programAnswer(["/bin/sh", "-c", script], { patienceMs, env: { PATH: process.env.PATH } });

test("an answer is what a program printed, and how it ended", async () => {
  expect(await ask("echo 1.20; echo no >&2", 30_000)).toEqual({ exitCode: 0, stdout: "1.20\n", stderr: "no\n" });
  expect(await ask("exit 3", 30_000)).toEqual({ exitCode: 3, stdout: "", stderr: "" });
  await expect(programAnswer(["/no such program"], { patienceMs: 1000, env: {} })).rejects.toThrow();
});

test("a program that prints without an end is killed, and its begin is all that is kept", async () => {
  for (const to of ["", " >&2"]) {
    const { exitCode, stdout, stderr } = await ask(`exec yes${to}`, 30_000);
    expect([exitCode, stdout.length + stderr.length]).toEqual([null, 1 << 16]);
  }
});

test("a program is not waited for beyond patience, nor a child of it that keeps its pipes", async () => {
  const began = performance.now();
  expect((await ask("echo 1; exec sleep 9", 500)).exitCode).not.toBe(0);
  expect(await ask("sleep 9 & echo 2", 500)).toMatchObject({ exitCode: 0, stdout: "2\n" });
  expect(performance.now() - began).toBeLessThan(8000);
});
