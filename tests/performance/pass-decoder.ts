/**
 * The demo's decoding, pass by pass: started with the arguments of the demo's own process, it decodes as many passes as
 * each line of stdin says, and answers with what they took.
 */
import { decode } from "../../src/engine/demo/decode.ts";
import { loadModel, startEngine } from "../../src/engine/demo/load.ts";
import { parseRunnerArguments } from "../../src/engine/demo/options.ts";
import { lineReader } from "./line-reader.ts";

/** The time in decode steps, prefills left out. */
export interface Passes {
  readonly tokens: number;
  readonly ms: number;
  readonly digest: string;
}

async function main(): Promise<void> {
  const options = parseRunnerArguments(process.argv.slice(2));
  const llama = await startEngine(options, () => {});
  const { context, promptOf } = await loadModel(llama, options);
  const sequence = context.getSequence();
  process.stdout.write("ready\n");
  const nextLine = lineReader(Bun.stdin.stream());
  for (let line = await nextLine(); line !== null; line = await nextLine()) {
    await sequence.clearHistory();
    const limits = { ...options, prompts: Number(line), tokens: null, seconds: null };
    const done = await decode(
      [sequence],
      context.contextSize,
      limits,
      promptOf,
      () => false,
      () => {},
    );
    const passes: Passes = { tokens: done.decodeTokens, ms: done.decodeMs, digest: done.tokenDigest };
    process.stdout.write(`${JSON.stringify(passes)}\n`);
  }
  await llama.dispose();
}

if (import.meta.main) await main();
