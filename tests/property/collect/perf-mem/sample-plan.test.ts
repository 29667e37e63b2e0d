import { expect, test } from "bun:test";
import fc from "fast-check";
import { KNOWN_SAMPLE_BITS, READ_FORMAT } from "../../../../src/collect/perf-mem/file/abi.ts";
import type { EventAttribute } from "../../../../src/collect/perf-mem/file/attribute.ts";
import { fixedTail, planSamples, walkTail } from "../../../../src/collect/perf-mem/file/sample-plan.ts";

const ATTRIBUTE: EventAttribute = {
  type: 4,
  config: 0n,
  sample_period: 1n,
  by_frequency: false,
  sample_type: 0,
  unknown_fields: false,
  read_format: 0,
  branch_sample_type: 0,
  regs_user: 7n,
  regs_intr: 15n,
  sample_id_all: true,
  clockid: 1,
  bp_type: 0,
  bp_addr: 0n,
  bp_len: 0n,
};
const READ_BITS = Object.values(READ_FORMAT).reduce((all, bit) => all | bit, 0);

test("fields that lie at one place in every sample are found there without a walk", () => {
  const attribute = fc.record({ bits: fc.nat(KNOWN_SAMPLE_BITS), read_format: fc.nat(READ_BITS) });
  const words = fc.uint32Array({ minLength: 128, maxLength: 128 });
  fc.assert(
    fc.property(attribute, words, fc.integer({ min: 1, max: 64 }), ({ bits, read_format }, sample, size) => {
      const plan = planSamples({ ...ATTRIBUTE, sample_type: bits & KNOWN_SAMPLE_BITS, read_format });
      const [fixed, walked] = [new Int32Array(3), new Int32Array(3)];
      const least = fixedTail(plan, fixed);
      if (least === null) return;
      const whole = walkTail(sample, 0, size, 0, plan, walked);
      expect(whole).toBe(size >= least);
      if (whole) expect(walked).toEqual(fixed);
    }),
    { numRuns: 3000 },
  );
});
