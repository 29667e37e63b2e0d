import { expect, test } from "bun:test";
import { failedTests } from "../../../scripts/failed-tests";

test("each failed test is named with its file, and with what was written between it and the test before", () => {
  const output = [
    "tests/a.test.ts:",
    "(pass) one [1ms]",
    "error: expect(received).toBe(expected)",
    "Received: 2",
    "(fail) two > deep [3.00ms]",
    "a word of a test that passes",
    "(pass) three",
    "",
    "tests/b.test.ts:",
    "(fail) four",
    "2 tests failed:",
    "(fail) two > deep [3.00ms]",
    "(fail) four",
    " 2 pass",
    " 2 fail",
  ].join("\n");
  expect(failedTests(output)).toEqual([
    {
      file: "tests/a.test.ts",
      name: "two > deep [3.00ms]",
      text: "error: expect(received).toBe(expected)\nReceived: 2\n",
    },
    { file: "tests/b.test.ts", name: "four", text: "" },
  ]);
});

test("a value that is too long to read is cut", () => {
  const [failed] = failedTests(`${"x".repeat(5000)}\n${"y\n".repeat(100)}(fail) long`);
  expect(failed?.text.split("\n").length).toBe(61);
});
