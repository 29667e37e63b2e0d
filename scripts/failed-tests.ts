/** Finds the tests that failed in what the test runner wrote, each with the lines that say why. */

/** More than an assertion with its two values takes; a value of a megabyte is cut. */
const LINES_MAX = 60;
const WIDTH_MAX = 400;

export type FailedTest = Readonly<{ file: string; name: string; text: string }>;

/**
 * The failed tests of an output, in order.
 * @param output what `bun test` wrote: a line `FILE.test.ts:` before the tests of a file, and a line `(pass)`, `(skip)`,
 * `(todo)` or `(fail)` after what each test wrote
 * @returns file and name of each, and the last {@link LINES_MAX} lines before its own
 */
export function failedTests(output: string): readonly FailedTest[] {
  const failures: FailedTest[] = [];
  let file = "";
  let lines: string[] = [];
  for (const line of output.split("\n")) {
    // What failed is written a second time at the end, under the name of no file.
    if (/^\d+ tests? failed:$/.test(line)) break;
    const header = /^(\S+\.test\.tsx?):$/.exec(line)?.[1];
    const ended = /^\((pass|skip|todo|fail)\) (.*)$/.exec(line);
    if (ended?.[1] === "fail") {
      const text = lines.slice(-LINES_MAX).map((one) => `${one.slice(0, WIDTH_MAX)}\n`);
      failures.push({ file, name: ended[2] ?? "", text: text.join("") });
    }
    if (header !== undefined) file = header;
    if (header !== undefined || ended !== null) lines = [];
    else lines.push(line);
  }
  return failures;
}
