/** The demo's own process: loads a model by real llama.cpp, decodes, reports. Started as `bun runner.ts --engine=.. --model=..`. */
import { basename } from "node:path";
import { MrmTraceError, reasonText } from "../errors.ts";
import type { PromptOutputs } from "../schema/prompt-outputs.ts";
import { decode } from "./decode.ts";
import { parseRunnerArguments } from "./demo-options.ts";
import { type EngineFacts, NO_FACTS, withLogLine } from "./engine-log.ts";
import { loadModel, startEngine } from "./load-engine.ts";
import { endWithParent } from "./parent.ts";
import { demoReport, publish } from "./report.ts";
import { keepTokens, promptOutputs, publishTexts, textsFd } from "./texts.ts";

const PROGRESS_MS = 5000;

function say(line: string): void {
  process.stdout.write(`demo: ${line}\n`);
}

/** Tells whether SIGINT, SIGTERM or SIGHUP has come: the decoding then stops after its token and reports. */
function stopOnSignals(): () => boolean {
  let stop = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // Not `once`: a dependency ends the process when it finds no listener beside its own. Nor does a second signal end it,
    // because a terminal and the tracer both send one for a single Ctrl-C.
    process.on(signal, () => {
      stop = true;
    });
  }
  return () => stop;
}

/** Says every few seconds how far it is. */
function progressLine(): (decodeTokens: number, prefills: number) => void {
  let next = performance.now() + PROGRESS_MS;
  return (decodeTokens, prefills) => {
    if (performance.now() < next) return;
    next = performance.now() + PROGRESS_MS;
    say(`${decodeTokens} tokens decoded, prompt ${prefills}`);
  };
}

/** Hands over the texts where somebody wants them; what was decoded is worth no less without. */
function handOver(outputs: () => PromptOutputs): void {
  const fd = textsFd();
  if (fd === null) return;
  try {
    publishTexts(outputs(), fd);
  } catch (error) {
    process.stderr.write(`demo: its texts are not kept: ${reasonText(error)}\n`);
  }
}

async function main(): Promise<void> {
  endWithParent();
  const stopped = stopOnSignals();
  const options = parseRunnerArguments(process.argv.slice(2));
  let facts: EngineFacts = NO_FACTS;
  const llama = await startEngine(options, (line) => {
    facts = withLogLine(facts, line);
  });
  try {
    const began = performance.now();
    const { model, context, promptOf } = await loadModel(llama, options);
    const loadMs = performance.now() - began;
    say(`${basename(options.modelPath)} loaded in ${loadMs.toFixed(0)} ms, context of ${context.contextSize} tokens`);
    const sequences = Array.from({ length: options.sequences }, () => context.getSequence());
    const kept = keepTokens();
    const decoded = await decode(sequences, context.contextSize, options, promptOf, stopped, progressLine(), kept.add);
    const { contextSize, currentThreads: threads } = context;
    const report = demoReport(options, { model: options.modelPath, loadMs, contextSize, threads }, facts, decoded);
    say(`flash attention ${facts.flashAttention === null ? "not told" : facts.flashAttention ? "on" : "off"}`);
    say(
      `${decoded.prefills} x ${options.promptTokens} prompt tokens, ${decoded.decodeTokens} decoded, ` +
        `${report.decode_tokens_per_s?.toFixed(1) ?? "no"} tokens/s, ${threads} threads`,
    );
    handOver(() => promptOutputs(kept, model));
    publish(report, options.reportPath);
  } finally {
    await llama.dispose();
  }
}

try {
  await main();
} catch (error) {
  const hint = error instanceof MrmTraceError ? `\n  ${error.hint}` : "";
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}${hint}\n`);
  process.exitCode = 1;
}
