import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { LAUNCHER } from "../../../src/runtime.ts";
import { makeSudoUser, type Said, type SudoUser, withoutSudo } from "../../fixtures/sudo-user.ts";

setDefaultTimeout(120_000);
const OLLAMA = new URL("../../fixtures/fake-ollama.ts", import.meta.url).pathname;
if (withoutSudo !== null) process.stderr.write(`the store of Ollama for a user of sudo: skipped, ${withoutSudo}\n`);

describe.skipIf(withoutSudo !== null)("the store of Ollama, of a user who called sudo (needs root and sudo)", () => {
  let user: SudoUser;
  beforeAll(() => {
    user = makeSudoUser();
  });
  afterAll(() => user[Symbol.dispose]());

  let runs = 0;
  /** An experiment in Ollama, whose store lies in this cache. */
  async function experiment(model: string, cache: string): Promise<Said> {
    const config = {
      experiment: { name: "o" },
      models: [{ id: "o", engine: "ollama", path: model }],
      sweep: { context_lengths: [128], output_tokens: [8] },
      run: { baseline: "100ms", collector: ["process"] },
      output: { base_dir: join(user.home, `out-${++runs}`) },
    };
    const write = 'mkdir -p bin && printf "%s" "$1" > o.yaml && printf "%s" "$2" > bin/ollama && chmod 755 bin/ollama';
    const script = `#!/bin/sh\nexec ${process.execPath} ${OLLAMA}\n`;
    await user.run(["sh", "-c", write, "sh", JSON.stringify(config), script]);
    const env = ["env", `PATH=${join(user.home, "bin")}:${process.env.PATH}`, `MRM_TRACE_CACHE=${cache}`];
    return await user.sudo([...env, LAUNCHER, "run", "--config", "o.yaml", "--json"]);
  }

  test("is made by the user, and leads to nothing that only root can write or read", async () => {
    const [mine, secret] = [join(user.home, "model.gguf"), join(user.rootOnly, "model.gguf")];
    await writeModel({ params: "1m", type: "f16", seed: 1 }, secret);
    await user.sudo(["install", "-o", String(user.uid), secret, mine]);
    const cache = join(user.home, "cache");
    const ended = await experiment(mine, cache);
    expect([ended.exitCode, JSON.parse(ended.stdout).runs[0].status]).toEqual([0, "complete"]);
    const blobs = join(cache, "ollama", "blobs");
    const owners = readdirSync(blobs).map((name) => lstatSync(join(blobs, name)).uid);
    expect([...new Set(owners)]).toEqual([user.uid]);
    const before = readdirSync(user.rootOnly);
    const misleading = join(user.home, "misleading");
    await user.run(["sh", "-c", `mkdir "$1" && ln -s "$2" "$1/ollama"`, "sh", misleading, user.rootOnly]);
    const misled = await experiment(mine, misleading);
    expect([misled.exitCode, misled.stdout]).toEqual([expect.any(Number), expect.stringMatching(/EACCES|EPERM/)]);
    expect(misled.exitCode).not.toBe(0);
    expect(readdirSync(user.rootOnly)).toEqual(before);
    const unread = await experiment(secret, cache);
    expect([unread.exitCode, unread.stderr]).toEqual([2, expect.stringContaining("models[0].path")]);
    expect(readdirSync(blobs)).toHaveLength(owners.length);
  });
});
