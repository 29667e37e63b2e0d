/**
 * Runs the tests and ends with one line: N passed, N failed, N skipped. Arguments go to `bun test`.
 * Without any, those that time nothing run at low priority beside those that drive the kernel, which mostly wait.
 */

/** Folders and files of tests that need no registers, and in which nothing is timed. */
const UNTIMED = [
  "tests/unit",
  "tests/property",
  "tests/validity/laboratory",
  "tests/validity/analyse/sampled",
  "tests/integration/kernels",
  "tests/integration/commands",
  "tests/integration/columnar",
  "tests/integration/collect/memray",
  "tests/integration/run/import",
  "tests/integration/run/hostile-memory",
  "tests/integration/run/memray",
  "tests/integration/run/secrets",
  "tests/integration/package",
] as const;
/** So low that what the others start hardly notices. */
const LOW_PRIORITY = ["nice", "-n", "19"] as const;
/** What the runner itself wrote is there by then; only a process that a test left behind keeps the pipe open. */
const LEFT_BEHIND_MS = 2000;
// Integration tests drive a real kernel and a real engine: seconds, not milliseconds.
const TIMEOUT_MS = "120000";

type Counts = Readonly<Record<"passed" | "failed" | "skipped", number>>;

/**
 * Runs the tests that the arguments name.
 * @param before words before the command, such as those that lower its priority
 * @param write takes what the runner writes to its error output, as it comes
 */
async function runTests(
  args: readonly string[],
  before: readonly string[],
  write: (text: Uint8Array) => void,
): Promise<Counts> {
  const runner = Bun.spawn([...before, process.execPath, "test", "--timeout", TIMEOUT_MS, ...args], {
    stdio: ["ignore", "inherit", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  const decoder = new TextDecoder();
  let tail = "";
  const reading = (async () => {
    for await (const chunk of runner.stderr) {
      write(chunk);
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
  const failed = Math.max(count("fail"), exitCode !== 0 || !whole || passed === 0 ? 1 : 0);
  return { passed, failed, skipped: count("skip") };
}

const args = process.argv.slice(2);
const straight = (text: Uint8Array): void => void process.stderr.write(text);
const held: Uint8Array[] = [];
const others = UNTIMED.flatMap((path) => [`${path}/**`, `${path}*.test.ts`]).map(
  (glob) => `--path-ignore-patterns=${glob}`,
);
const counts = await Promise.all(
  args.length > 0
    ? [runTests(args, [], straight)]
    : [runTests(others, [], straight), runTests(UNTIMED, LOW_PRIORITY, (text) => void held.push(text))],
);
for (const text of held) process.stderr.write(text);
const sum = (name: keyof Counts): number => counts.reduce((total, run) => total + run[name], 0);
process.stdout.write(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped\n`);
process.exit(sum("failed") > 0 ? 1 : 0);

export {};
