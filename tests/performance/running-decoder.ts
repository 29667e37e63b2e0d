/** A process that has loaded a model and decodes when it is told to, so that a tracer can come and go beside it. */
import { demoCacheDir } from "../../src/demo/cache.ts";
import { type DemoOptions, demoCommand } from "../../src/demo/demo.ts";
import { lineReader } from "../fixtures/line-reader.ts";
import type { Ask, Decodes } from "./pass-decoder.ts";

const PASS_DECODER = new URL("./pass-decoder.ts", import.meta.url).pathname;

export interface RunningDecoder extends AsyncDisposable {
  readonly pid: number;
  decode(ask: Ask): Promise<Decodes>;
}

/** Starts it, with one thread, on one CPU. @throws Error when it cannot load the model */
export async function startDecoder(params: DemoOptions["params"], cpu: string): Promise<RunningDecoder> {
  const { command, env } = await demoCommand({ cacheDir: demoCacheDir(), params, type: "q8_0", threads: 1 });
  const argv = command.map((word) => (word.endsWith("/runner.ts") ? PASS_DECODER : word));
  const child = Bun.spawn(["taskset", "-c", cpu, ...argv], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const nextLine = lineReader(child.stdout);
  if ((await nextLine()) !== "ready") throw new Error("the decoder did not start");
  return {
    pid: child.pid,
    async decode(ask) {
      child.stdin.write(`${JSON.stringify(ask)}\n`);
      child.stdin.flush();
      const line = await nextLine();
      if (line === null) throw new Error("the decoder ended");
      return JSON.parse(line) as Decodes;
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await child.exited;
    },
  };
}
