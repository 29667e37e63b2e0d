import { expect, test } from "bun:test";
import { sourceFacts } from "../../../src/collect/ebpf/access-sources.ts";
import { sampleChoices } from "../../../src/collect/ebpf/samples/choose-sources.ts";
import { runCli } from "./cli.ts";

const usable = sampleChoices(sourceFacts()).find(({ ok }) => ok);
if (usable) process.stderr.write(`skipped: refusals of --source, for this machine has ${usable.source}\n`);

for (const asked of ["pebs", "ibs", "pebs,watch"]) {
  test.skipIf(usable !== undefined)(
    `--source ${asked} ends with 3, the reason and a fix, where no PMU samples`,
    async () => {
      const { exitCode, stdout } = await runCli(["run", "--source", asked, "--json", "--", "/bin/true"]);
      expect(exitCode).toBe(3);
      const said = JSON.parse(stdout) as { error: { message: string; hint: string } };
      expect(said).toMatchObject({ run_dir: null, error: { code: "environment", exit_code: 3 } });
      const { message, hint } = said.error;
      expect(message).toStartWith(`--source ${asked.split(",")[0]}: no `);
      expect(hint).toContain("--source watch");
    },
  );
}
