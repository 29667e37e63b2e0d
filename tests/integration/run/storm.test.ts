/** Targets that do more than the rings hold: the run ends all the same, and says what it lost. */
import { afterEach, describe, expect, test } from "bun:test";
import { balances, inNumbers } from "../../../src/schema/ledger.ts";
import { runJsonSchema } from "../../../src/schema/run-json.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, startCli } from "./cli.ts";

afterEach(endLeftRuns);

/** A run and the analysis of what it recorded take a few seconds. */
const BOUND_MS = 40_000;

/** A run of the storm under the tracer, which sleeps while the storm ends where `asleep`. */
async function stormUnder(children: number, asleep: boolean) {
  const program = [compileProgram("map-storm"), "8", "1500", String(children)];
  const output = ["--output", outputFolder(), "--collector", "ebpf"];
  const run = startCli(["run", "--json", ...QUICK, ...output, "--", ...program]);
  await run.said("storm");
  if (asleep) {
    run.signal("SIGSTOP");
    await Bun.sleep(3000);
    run.signal("SIGCONT");
  }
  const ended = await Promise.race([run.ended, Bun.sleep(BOUND_MS).then(() => null)]);
  if (ended === null) return null;
  const { ledger } = runJsonSchema.parse(jsonOf(ended));
  return { exitCode: ended.exitCode, ledger: inNumbers(ledger) };
}

describe("a target whose threads map and unmap until it ends", () => {
  for (const [name, children, asleep] of [
    ["ends its run where the records of its end found no room", 0, true],
    ["ends its run where the births and the ends of its children found no room", 3, true],
    ["ends its run, first try", 0, false],
    ["ends its run, second try", 0, false],
    ["ends its run, third try", 2, false],
  ] as const) {
    test(name, async () => {
      const told = await stormUnder(children, asleep);
      expect(told?.exitCode).toBe(0);
      const [calls] = rowsAt(told?.ledger ?? [], { stream: "mapping", stage: "ring" });
      expect(calls?.seen).toBeGreaterThan(0);
      if (asleep) expect(calls?.dropped_by.ring_full).toBeGreaterThan(0);
      expect(told?.ledger.filter((row) => !balances(row))).toEqual([]);
    });
  }
});
