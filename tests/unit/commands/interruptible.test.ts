import { expect, test } from "bun:test";

const SOURCE = new URL("../../../src/commands/interruptible.ts", import.meta.url).pathname;

/** Work that says that it has begun, and how it was ended. */
const SCRIPT = `import { interruptible } from ${JSON.stringify(SOURCE)};
  const work = (signal) => new Promise((_, end) => {
    signal.addEventListener("abort", () => end(signal.reason));
    setTimeout(() => {}, 20_000);
    console.log("ready");
  });
  await interruptible(work).catch(({ code, message, hint }) => console.log([code, message, hint].join("; ")));
  process.exit(0);`;

async function endedBy(signal: NodeJS.Signals): Promise<string> {
  const child = Bun.spawn([process.execPath, "-e", SCRIPT], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  let text = "";
  for await (const chunk of child.stdout) {
    if (text === "") child.kill(signal);
    text += new TextDecoder().decode(chunk);
  }
  return text.trim();
}

test.each([
  ["SIGINT", "interrupted"],
  ["SIGTERM", "terminated"],
  ["SIGHUP", "hangup"],
] as const)("%s ends work in order, which is told as %s", async (signal, code) => {
  expect(await endedBy(signal)).toBe(
    `ready\n${code}; ${signal} came while it was written; run it again: nothing was left behind`,
  );
});
