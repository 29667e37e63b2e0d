import { expect, setDefaultTimeout, test } from "bun:test";
import { KNOWN_BUILDS } from "../../../src/engine/llama-cpp/known-builds.ts";
import { chooseLayout } from "../../../src/engine/llama-cpp/layout-choice.ts";
import { LLAMA_PARAMS } from "../../../src/engine/llama-cpp/offsets.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);

const build = await fetchLlamaServer(BUILDS.process);
if (!build.ok) process.stderr.write(`skipped: an entry of a known build: ${build.reason}\n`);
const SCRIPT = new URL("../../../scripts/known-build.ts", import.meta.url).pathname;

async function made(library: string, name: string) {
  const child = Bun.spawn([process.execPath, SCRIPT, library, name], { stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, stdout, stderr };
}

test.skipIf(!build.ok)(
  "the script makes the entry of a real library, by trying all that its offsets tell",
  async () => {
    if (!build.ok) throw new Error(build.reason);
    const [library = ""] = build.objects;
    const { exitCode, stdout } = await made(library, "llama.cpp b11549");
    expect(exitCode).toBe(0);
    const entry = JSON.parse(stdout);
    expect(KNOWN_BUILDS).toContainEqual(entry);
    expect(chooseLayout(entry)).toMatchObject({
      build: "llama.cpp b11549",
      params: LLAMA_PARAMS,
      evidence: "build_id",
    });
  },
);

test("a library that makes no contexts is refused in one line", async () => {
  const refused = await made(process.execPath, "no engine");
  expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
  expect(refused.stderr.trim()).toBe(`known-build: ${process.execPath} does not make contexts of llama.cpp`);
});
