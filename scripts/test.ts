/** Runs the tests and ends with one line: N passed, N failed, N skipped. Arguments go to `bun test`. */
// Integration tests drive a real kernel and a real engine: seconds, not milliseconds.
const runner = Bun.spawn([process.execPath, "test", "--timeout", "120000", ...process.argv.slice(2)], {
  stdio: ["ignore", "inherit", "pipe"],
  env: { ...process.env, NO_COLOR: "1" },
});
/** What the runner itself wrote is there by then; only a process that a test left behind keeps the pipe open. */
const LEFT_BEHIND_MS = 2000;

const decoder = new TextDecoder();
let tail = "";
const reading = (async () => {
  for await (const chunk of runner.stderr) {
    process.stderr.write(chunk);
    tail = (tail + decoder.decode(chunk, { stream: true })).slice(-4096);
  }
  return true;
})();
const exitCode = await runner.exited;
const whole = await Promise.race([reading, Bun.sleep(LEFT_BEHIND_MS).then(() => false)]);
if (!whole) process.stderr.write("a test left a process behind, which holds the error output of the tests\n");
const count = (word: string): number => Number(new RegExp(`^\\s*(\\d+) ${word}\\b`, "m").exec(tail)?.[1] ?? 0);
const passed = count("pass");
// A runner that died before its summary has failed, whatever it counted; so has a test that leaves a process.
const failed = Math.max(count("fail"), exitCode !== 0 || !whole ? 1 : 0, passed === 0 ? 1 : 0);
process.stdout.write(`${passed} passed, ${failed} failed, ${count("skip")} skipped\n`);
process.exit(failed > 0 ? 1 : 0);

export {};
