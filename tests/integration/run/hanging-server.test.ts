import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { tableBatches } from "../../../src/columnar/read/table-batches.ts";
import { rowsFromBatch } from "../../../src/columnar/rows.ts";
import { tableFiles } from "../../../src/run-directory/table-files.ts";
import type { RunJson } from "../../../src/schema/run-json.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli, startCli } from "./cli.ts";

setDefaultTimeout(120_000);
const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const SERVER = new URL("../../fixtures/hanging-server.ts", import.meta.url).pathname;
const hanging = (...how: string[]): string[] => ["--", process.execPath, SERVER, "{port}", ...how];
const RUN = ["run", "--json", "--collector", "process", ...QUICK, "--output", output];
const ASKED = ["--serve", "500ms", "--clients", "2", "--request-timeout", "1s"];

const figuresOf = ({ run_dir }: RunJson) =>
  tableFiles(run_dir, "request_figures").flatMap((path) =>
    [...tableBatches(path, "request_figures")].flatMap(rowsFromBatch),
  );

describe("a run of which we are the client, of a server that hangs", () => {
  test("ends behind its time, with what was answered, and says what was given up and after how long", async () => {
    const ended = await runCli([...RUN, ...ASKED, ...hanging("silent", "3")]);
    const report = jsonOf(ended) as unknown as RunJson;
    expect(ended.exitCode).toBe(0);
    expect(report.requests).toMatchObject({ requests: 5, answered: 3 });
    expect(report.warnings.join("\n")).toMatch(
      /of 5 requests of our client not all were answered: 2 given up, as the server said nothing, after 1\.\d+ s at most/,
    );
    expect(report.target).toMatchObject({ signal: "SIGTERM" });
    expect(report.target.wall_s).toBeLessThan(10);
    expect(figuresOf(report).map(({ status, why }) => [status, why])).toEqual([
      ...[1, 2, 3].map(() => ["answered", expect.anything()]),
      ...[4, 5].map(() => ["silent", "it was given up, as the server said nothing"]),
    ]);
  });

  test("has the tokens that came before it stopped, and fails where nothing was answered", async () => {
    const ended = await runCli([...RUN, ...ASKED, ...hanging("stream")]);
    const report = jsonOf(ended) as unknown as RunJson;
    expect(ended.exitCode).toBe(6);
    expect(report.warnings.join("\n")).toContain("none was answered: 2 given up, as the server said nothing,");
    expect(figuresOf(report)).toMatchObject([1, 2].map(() => ({ status: "silent", streamed_tokens: 2 })));
  });

  test("ends at once with Ctrl-C, though the server was never ready, and says so", async () => {
    const run = startCli([...RUN, "--serve", "30s", ...hanging("accept")]);
    await run.said("it listens");
    await Bun.sleep(500);
    const told_ms = performance.now();
    run.signal("SIGINT");
    const ended = await run.ended;
    expect(performance.now() - told_ms).toBeLessThan(10_000);
    expect(ended.exitCode).toBe(130);
    const { warnings } = jsonOf(ended) as unknown as RunJson;
    expect(warnings).toContain("our client asked nothing: by the end of the run no server was ready");
    expect(ended.stderr).not.toContain("    at ");
  });
});

test("a comparison with a server that hangs ends at --timeout, and leaves no server", async () => {
  const asked = ["--serve", "500ms", "--timeout", "3s", "--repeats", "2", "--arms", "attached-idle"];
  const command = hanging("deaf");
  const ended = await runCli(["compare", "--json", "--output", output, ...asked, ...command]);
  expect(ended.exitCode).toBe(6);
  expect(jsonOf(ended)).toMatchObject({ error: { code: "target", message: expect.stringContaining("in 3 s") } });
  const { stdout } = Bun.spawnSync(["pgrep", "-f", `${SERVER} [0-9]+ deaf`]);
  expect(stdout.toString()).toBe("");
});
