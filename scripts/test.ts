/**
 * Runs the tests and ends with one line: N passed, N failed, N skipped. Arguments go to `bun test`.
 * Without any, those that time nothing run at low priority beside those that drive the kernel, which mostly wait.
 * What failed is written again above that line: what a machine keeps of a long output is its end.
 *
 * Tests that drive the kernel share two CPUs with the others, though each assumes that the machine is its own. So what
 * fails among them is run once more alone, and that run decides; both are written. More than
 * {@link SECOND_LOOKS_MAX} failures are no bad luck: they stand.
 */
import { writeSync } from "node:fs";
import { type FailedTest, failedTests } from "./failed-tests";

/** Folders and files of tests that need no registers, and in which nothing is timed. */
const UNTIMED = [
  "tests/unit",
  "tests/property",
  "tests/validity/laboratory",
  "tests/validity/analyse/sampled",
  "tests/integration/kernels",
  "tests/integration/commands",
  "tests/integration/examples",
  "tests/integration/columnar",
  "tests/integration/export",
  "tests/integration/collect/memray",
  "tests/integration/collect/residency",
  "tests/integration/run/import",
  "tests/integration/run/hostile-memory",
  "tests/integration/run/memray",
  "tests/integration/run/serve-others",
  "tests/integration/experiment/server",
  "tests/integration/package",
  "tests/integration/report",
] as const;
/** So low that what the others start hardly notices. */
const LOW_PRIORITY = ["nice", "-n", "19"] as const;
/** What the runner itself wrote is there by then; only a process that a test left behind keeps the pipe open. */
const LEFT_BEHIND_MS = 2000;
const SECOND_LOOKS_MAX = 4;
// Integration tests drive a real kernel and a real engine: seconds, not milliseconds.
const TIMEOUT_MS = "120000";

type Counts = Readonly<Record<"passed" | "failed" | "skipped", number>> & Readonly<{ failures: readonly FailedTest[] }>;

/** Writes to the error output and returns when it is there, so that the end of this process cuts nothing off. */
function write(text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(2, rest));
    } catch (error) {
      // A pipe that another process made non-blocking is full until its reader comes.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

/**
 * Runs the tests that the arguments name.
 * @param before words before the command, such as those that lower its priority
 * @param show takes what the runner writes to its error output, as it comes
 */
async function runTests(
  args: readonly string[],
  before: readonly string[],
  show: (text: string) => void,
): Promise<Counts> {
  const runner = Bun.spawn([...before, process.execPath, "test", "--timeout", TIMEOUT_MS, ...args], {
    stdio: ["ignore", "inherit", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  const decoder = new TextDecoder();
  let output = "";
  const reading = (async () => {
    for await (const chunk of runner.stderr) {
      const text = decoder.decode(chunk, { stream: true });
      show(text);
      output += text;
    }
    return true;
  })();
  const exitCode = await runner.exited;
  const whole = await Promise.race([reading, Bun.sleep(LEFT_BEHIND_MS).then(() => false)]);
  const failures = [...failedTests(output)];
  if (!whole) {
    const text = "a test left a process behind, which holds the error output of the tests\n";
    failures.push({ file: "", name: "the end of the tests", text });
  }
  const count = (word: string): number =>
    Number(new RegExp(`^\\s*(\\d+) ${word}\\b`, "m").exec(output.slice(-4096))?.[1] ?? 0);
  const passed = count("pass");
  // A runner that died before its summary has failed, whatever it counted; so has a test that leaves a process.
  const died = exitCode !== 0 || !whole || passed === 0;
  if (died && failures.length === 0) {
    failures.push({ file: "", name: "the end of the tests", text: `exit status ${exitCode}\n${output.slice(-4096)}` });
  }
  return { passed, failed: Math.max(count("fail"), died ? 1 : 0), skipped: count("skip"), failures };
}

const args = process.argv.slice(2);
const others = UNTIMED.flatMap((path) => [`${path}/**`, `${path}*.test.ts`]).map(
  (glob) => `--path-ignore-patterns=${glob}`,
);

/** Runs all tests: the two groups side by side, then alone what failed among those that drive the kernel. */
async function runAll(): Promise<readonly Counts[]> {
  let held = "";
  const [driving, untimed] = await Promise.all([
    runTests(others, [], write),
    runTests(UNTIMED, LOW_PRIORITY, (text) => {
      held += text;
    }),
  ]);
  write(held);
  const files = [...new Set(driving.failures.map(({ file }) => file))];
  const named = driving.failures.length === driving.failed && !files.includes("");
  if (driving.failed === 0 || driving.failed > SECOND_LOOKS_MAX || !named) return [driving, untimed];
  for (const { file, name, text } of driving.failures) write(`\nfailed beside other tests: ${file}: ${name}\n${text}`);
  write(`\nonce more, alone: ${files.join(" ")}\n`);
  const alone = await runTests(files, [], write);
  const passed = driving.passed + driving.failed - alone.failed;
  return [{ ...driving, passed, failed: alone.failed, failures: alone.failures }, untimed];
}

const counts = args.length > 0 ? [await runTests(args, [], write)] : await runAll();
for (const { file, name, text } of counts.flatMap((run) => run.failures)) write(`\nfailed: ${file}: ${name}\n${text}`);
const sum = (name: "passed" | "failed" | "skipped"): number => counts.reduce((total, run) => total + run[name], 0);
process.stdout.write(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped\n`);
process.exit(sum("failed") > 0 ? 1 : 0);
