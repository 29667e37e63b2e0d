import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { LAUNCHER } from "../../../src/runtime.ts";
import { makeSudoUser, type SudoUser, withoutSudo } from "../../fixtures/sudo-user.ts";

setDefaultTimeout(120_000);
if (withoutSudo !== null) process.stderr.write(`files of an experiment for a user of sudo: skipped, ${withoutSudo}\n`);

interface Checked {
  readonly problems: readonly { readonly key: string; readonly message: string }[];
}

describe.skipIf(withoutSudo !== null)("validate, of a user who called sudo (needs root and sudo)", () => {
  let user: SudoUser;
  beforeAll(async () => {
    user = makeSudoUser();
    await writeModel({ params: "1m", type: "f16", seed: 1 }, join(user.rootOnly, "model.gguf"));
    writeFileSync(join(user.rootOnly, "script.py"), "");
    writeFileSync(join(user.rootOnly, "prompts.jsonl"), '{"prompt": "a secret"}\n');
    mkdirSync(join(user.rootOnly, "folder"));
    writeFileSync(join(user.rootOnly, "folder", "config.json"), '{"vocab_size": 32}');
  });
  afterAll(() => user[Symbol.dispose]());

  /** What is wrong with an experiment, by the key, but for what this machine lacks. */
  async function problemsOf(model: Readonly<Record<string, string>>, source: string): Promise<string[]> {
    const config = { experiment: { name: "o" }, models: [{ id: "o", ...model }], prompts: { source } };
    await user.run(["sh", "-c", 'printf "%s" "$1" > o.yaml', "sh", JSON.stringify(config)]);
    const ended = await user.sudo([LAUNCHER, "validate", "o.yaml", "--json"]);
    const { problems } = JSON.parse(ended.stdout) as Checked;
    return problems.map(({ key }) => key).filter((key) => key !== "models[0].engine");
  }

  for (const [engine, name] of [
    ["llamacpp", "model.gguf"],
    ["llama-server", "model.gguf"],
    ["transformers", "script.py"],
    ["vllm", "folder"],
  ] as const) {
    test(`tells nothing of a ${engine} model that only root can read`, async () => {
      const path = join(user.rootOnly, name);
      expect(await problemsOf({ engine, path }, "random")).toEqual(["models[0].path"]);
    });

    test(`finds a ${engine} model that the user can read`, async () => {
      await user.sudo(["cp", "-r", join(user.rootOnly, name), user.home]);
      await user.sudo(["chown", "-R", String(user.uid), join(user.home, name)]);
      expect(await problemsOf({ engine, path: join(user.home, name) }, "random")).toEqual([]);
    });
  }

  test("tells nothing of prompts that only root can read", async () => {
    const said = await problemsOf({ engine: "demo" }, join(user.rootOnly, "prompts.jsonl"));
    expect(said).toEqual(["prompts.source"]);
  });
});
