import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableBatches } from "../../../src/columnar/read/table-batches.ts";
import { rowsFromBatch } from "../../../src/columnar/rows.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { tableFiles } from "../../../src/run-directory/table-files.ts";
import type { RunJson } from "../../../src/schema/run-json.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

setDefaultTimeout(120_000);

const output = outputFolder();
const model = join(output, "model.gguf");
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const server = await fetchLlamaServer(BUILDS.process);
if (!server.ok) process.stderr.write(`skipped: a server of the common form: ${server.reason}\n`);

test.skipIf(!server.ok).each(["openai", "openai-chat"])(
  "a server of the common form is asked as others are (%s), and what it does not tell is null",
  async (api) => {
    if (!server.ok) return;
    if (!existsSync(model)) await writeModel({ params: "1m", type: "f16", seed: 1 }, model);
    const asked = ["--serve", "300ms", "--api", api, "--request-tokens", "20", "--collector", "process", "--json"];
    const command = server.command(model, "{port}", 512);
    const ended = await runCli(["run", ...asked, ...QUICK, "--output", output, "--", ...command], { env: server.env });
    expect(ended.exitCode).toBe(0);
    const { run_dir, requests } = jsonOf(ended) as unknown as RunJson;
    const figures = tableFiles(run_dir, "request_figures").flatMap((path) =>
      [...tableBatches(path, "request_figures")].flatMap(rowsFromBatch),
    );
    expect(figures.length).toBeGreaterThan(0);
    const names = tableFiles(run_dir, "request").flatMap((path) =>
      [...tableBatches(path, "request")].flatMap(rowsFromBatch).map(({ request }) => request),
    );
    for (const name of names) expect(name).toMatch(/^chatcmpl-/);
    expect(new Set(names).size).toBe(figures.length);
    expect(requests).toMatchObject({ requests: figures.length, answered: figures.length, kv_bytes: null });
    for (const { prompt_tokens, evaluated_tokens, reused_tokens, output_tokens, streamed_tokens, why } of figures) {
      expect((evaluated_tokens ?? 0) + (reused_tokens ?? 0)).toBe(prompt_tokens ?? -1);
      // A token whose character is not whole has no event of its own, and a word of the model may end an answer.
      expect(output_tokens).toBeLessThanOrEqual(20);
      if (streamed_tokens === null) expect(why).toContain("times between its tokens are not identifiable");
      else expect(streamed_tokens).toBeLessThanOrEqual(output_tokens ?? 0);
      expect(why).toMatch(/does not say which sequence it had|no token came/);
    }
  },
);

test("a client without a server, a port or prompts is refused with what is missing", async () => {
  const told = async (...words: string[]): Promise<[number, string]> => {
    const { exitCode, stderr } = await runCli(["run", ...words, "--output", output]);
    return [exitCode, stderr];
  };
  expect(await told("--serve", "1s")).toEqual([2, expect.stringContaining("no command to be the client of")]);
  expect(await told("--clients", "2", "--", "true")).toEqual([2, expect.stringContaining("no --serve")]);
  expect(await told("--serve", "1s", "--", "true")).toEqual([2, expect.stringContaining("{port}")]);
  const empty = join(output, "empty.txt");
  writeFileSync(empty, "\n");
  const unprompted = await told("--serve", "1s", "--prompts", empty, "--", "true", "{port}");
  expect(unprompted).toEqual([2, expect.stringContaining("no prompts in it")]);
});

/** A server that is ready, and answers every completion with the status 500. */
const FAILING = `import http.server,sys
class Answer(http.server.BaseHTTPRequestHandler):
  def say(self, status):
    self.send_response(status); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
  def do_GET(self): self.say(200)
  def do_POST(self): self.rfile.read(int(self.headers["Content-Length"])); self.say(500)
  def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()`;

test("a server that answers no request fails the run, with the status that it gave", async () => {
  const asked = ["--serve", "500ms", "--api", "openai", "--collector", "process", "--json"];
  const command = ["python3", "-c", FAILING, "{port}"];
  const ended = await runCli(["run", ...asked, ...QUICK, "--output", output, "--", ...command]);
  const { run_dir, requests, warnings } = jsonOf(ended) as unknown as RunJson;
  expect(ended.exitCode).toBe(6);
  expect(requests).toMatchObject({ answered: 0 });
  expect(warnings.join()).toMatch(/none was answered: \d+ refused with HTTP 500/);
  const figures = tableFiles(run_dir, "request_figures").flatMap((path) =>
    [...tableBatches(path, "request_figures")].flatMap(rowsFromBatch),
  );
  expect(figures.length).toBeGreaterThan(0);
  for (const { why } of figures) expect(why).toBe("it was refused with HTTP 500");
});
