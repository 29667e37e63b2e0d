import { describe, expect, test } from "bun:test";
import { tellWaiting } from "../../../src/pipelines/outlived-command.ts";

describe("a signal to a run", () => {
  /** What is said within two moments of a command that ends after so long. */
  async function saidOf(ends_after_ms: number): Promise<string[]> {
    const said: string[] = [];
    const ended = Bun.sleep(ends_after_ms).then(() => ({ exit_code: 0, signal: null }));
    tellWaiting("SIGINT", ended, 10_000, (line) => void said.push(line), 50);
    await Bun.sleep(150);
    return said;
  }

  test("is answered where its command runs on, with how long that may and what ends the tracer at once", async () => {
    expect(await saidOf(1000)).toEqual([
      "SIGINT: the command has 10 s to end; a second signal ends the tracer at once, without results",
    ]);
  });

  test("says nothing where the command ends at once", async () => {
    expect(await saidOf(0)).toEqual([]);
  });
});
