import { describe, expect, test } from "bun:test";
import { hasBlocks, stepBlocks } from "../../../../src/engine/vllm/step-blocks.ts";
import { attentionBytes, type StepFields } from "../../../fixtures/vllm-structs.ts";

const CACHE = { blocks: 64, block_tokens: 4 };
const payloadOf = (step: StepFields | null) => new DataView(attentionBytes({}, step).buffer);
const stepOf = (step: StepFields) => stepBlocks(payloadOf(step), CACHE);

const REQUESTS = [
  { tokens: 1, length: 9, blocks: [7, 8, 3] },
  { tokens: 6, length: 6, blocks: [4, 5] },
];

describe("the blocks of a step", () => {
  test("are those of its requests in their order, also where one list goes on in the next", () => {
    expect(stepOf({ requests: REQUESTS })).toEqual({ tokens: 7, requests: 2, listed: REQUESTS });
    const small = new DataView(attentionBytes({}, { requests: REQUESTS }, { isSmall: true }).buffer);
    expect(hasBlocks(small)).toBe(true);
    expect(stepBlocks(small, CACHE)).toEqual({ tokens: 7, requests: 2, listed: REQUESTS });
  });

  test("are left out of the records of all layers but the first", () => {
    expect([payloadOf(null), payloadOf({ requests: REQUESTS })].map(hasBlocks)).toEqual([false, true]);
  });

  test("are not told where they are too many, or tokens look back over a window: tokens and requests are", () => {
    const untold = { tokens: 7, requests: 2, listed: null };
    expect(stepOf({ requests: REQUESTS, held: 1 })).toEqual(untold);
    expect(stepOf({ requests: REQUESTS, hasWindow: true })).toEqual(untold);
  });

  test.each([
    ["no tokens", { requests: [] }],
    ["other tokens than its requests", { requests: REQUESTS, tokens: 8 }],
    ["a block that the cache lacks", { requests: [{ tokens: 1, length: 1, blocks: [64] }] }],
    ["fewer blocks than tokens need", { requests: [{ tokens: 1, length: 9, blocks: [1, 2] }] }],
    ["more blocks than tokens need", { requests: [{ tokens: 1, length: 3, blocks: [1, 2] }] }],
    ["other blocks than it says", { requests: REQUESTS, heldBlocks: 4 }],
    ["more tokens than a request has", { requests: [{ tokens: 5, length: 4, blocks: [1] }] }],
  ] as const)("are refused with %s", (_, step) => {
    expect(stepOf(step)).toBeNull();
  });
});
