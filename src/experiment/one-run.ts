/** The process of one run of an experiment: a request on stdin, the report of the run as one JSON object on stdout. */
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { derivedReport } from "../pipelines/conclude.ts";
import { run } from "../pipelines/run.ts";
import { watchSignals } from "../record/signals.ts";
import { createProgress } from "../report/progress.ts";
import { printableLines } from "../report/terminal.ts";
import { forgetLauncher } from "../runtime.ts";
import { encodeFailure, encodeRun, toJson } from "../schema/run-json.ts";
import { runRequestSchema } from "./run-request.ts";
import { serveOf } from "./server-run.ts";

async function oneRun(): Promise<number> {
  try {
    const { model_id, ...request } = runRequestSchema.parse(JSON.parse(await Bun.stdin.text()));
    const serve = serveOf({ model_id, ...request });
    // The experiment tells of its runs, and keeps the last lines of one that fails.
    const progress = createProgress(process.stderr, { quiet: true });
    const notice = (line: string): void => {
      progress.clear();
      process.stderr.write(`mrm-trace: ${printableLines(line)}\n`);
    };
    const say = request.options.verbose ? notice : () => {};
    using signals = watchSignals();
    const outcome = await run({
      ...request,
      command: request.server?.command ?? request.script ?? [],
      ...(serve === null ? {} : { serve }),
      modelName: model_id,
      progress,
      say,
      notice,
      signals,
      stdoutFd: 2,
      isOwnProcess: true,
    });
    await Bun.write(Bun.stdout, `${toJson(encodeRun(derivedReport(outcome)))}\n`);
    return outcome.exitCode;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const failure =
      error instanceof MrmTraceError ? error : new MrmTraceError("failure", message, "run it again with --debug");
    const runDir = error instanceof Error ? Reflect.get(error, "runDir") : null;
    await Bun.write(Bun.stdout, `${toJson(encodeFailure(failure, typeof runDir === "string" ? runDir : null))}\n`);
    if (failure.code === "failure") process.stderr.write(`${error instanceof Error ? error.stack : message}\n`);
    return EXIT_CODES[failure.code];
  }
}

forgetLauncher();
// What analyses keeps threads of its own, which would keep this process.
process.exit(await oneRun());
