/**
 * The demo's decoding on demand: started with the arguments of the demo's own process, it decodes what each line of stdin
 * asks for, and answers with when each token came.
 */
import { decode } from "../../src/demo/decode.ts";
import { parseRunnerArguments } from "../../src/demo/demo-options.ts";
import { loadModel, startEngine } from "../../src/demo/load-engine.ts";
import { monotonicNs } from "../../src/kernel/libc.ts";
import { lineReader } from "../fixtures/line-reader.ts";

/** One line of stdin, as JSON. */
export interface Ask {
  /** Ends after so many prompts, each decoded until the context is full; null for no limit. */
  readonly prompts: number | null;
  /** Ends after so long; null for no limit. */
  readonly seconds: number | null;
}

/** One line of stdout, as JSON: decoded tokens, without the first of each prompt. */
export interface Decodes {
  readonly tokens: number;
  /** How many tokens of its prompt came before each. */
  readonly position: readonly number[];
  /** When each began and ended, CLOCK_MONOTONIC in ns. */
  readonly begin_ns: readonly number[];
  readonly end_ns: readonly number[];
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
    const limits = { ...options, ...(JSON.parse(line) as Ask), tokens: null };
    const [position, begin_ns, end_ns]: [number[], number[], number[]] = [[], [], []];
    let [prompt, done, before_ns] = [0, 0, 0];
    const note = (_: number, prefills: number): void => {
      const now_ns = Number(monotonicNs());
      if (prefills === prompt) {
        position.push(done);
        begin_ns.push(before_ns);
        end_ns.push(now_ns);
      } else done = 0;
      prompt = prefills;
      done += 1;
      before_ns = now_ns;
    };
    const { decodeTokens } = await decode(
      [sequence],
      context.contextSize,
      limits,
      promptOf,
      () => false,
      note,
      () => undefined,
    );
    const decodes: Decodes = { tokens: decodeTokens, position, begin_ns, end_ns };
    process.stdout.write(`${JSON.stringify(decodes)}\n`);
  }
  await llama.dispose();
}

if (import.meta.main) await main();
