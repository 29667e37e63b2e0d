import { describe, expect, test } from "bun:test";
import { eachLine, firstText } from "../../../src/demo/child-output.ts";

/** A child that writes so many bytes without a line break, and then a line. */
const writer = (bytes: number, line: string) =>
  Bun.spawn(["sh", "-c", `head -c ${bytes} /dev/zero | tr '\\0' x; printf '\\n${line}\\n'`], { stdout: "pipe" });

describe("what a process of another user writes", () => {
  test("is kept up to so many bytes, and read to its end, so that the process ends", async () => {
    const child = writer(8 << 20, "end");
    expect(await firstText(child.stdout, 1000)).toBe("x".repeat(1000));
    expect(await child.exited).toBe(0);
  });

  test("is whole where it is short", async () => {
    expect(await firstText(writer(3, "{}").stdout, 1000)).toBe("xxx\n{}\n");
  });

  test("is handed on by lines, of a long one its first characters", async () => {
    const lines: string[] = [];
    const child = writer(8 << 20, "fetching");
    expect(await eachLine(child.stdout, 10, (line) => void lines.push(line))).toBe("fetching");
    expect(lines).toEqual(["x".repeat(10), "fetching"]);
  });
});
