import { expect, test } from "bun:test";
import { reusedShareText } from "../../../src/report/reused-share.ts";

test("the share of a prompt that came from the cache is told where there is a prompt and both counts are known", () => {
  expect(reusedShareText(64, 198)).toBe("32.3 %");
  expect([reusedShareText(0, 198), reusedShareText(198, 198)]).toEqual(["0 %", "100 %"]);
  const unknown = [reusedShareText(null, 198), reusedShareText(64, null), reusedShareText(0, 0), reusedShareText(9, 8)];
  expect(unknown).toEqual([null, null, null, null]);
});
