import { describe, expect, test } from "bun:test";
import { MrmTraceError } from "../../../src/errors.ts";
import { columnsOf } from "../../../src/schema/columns.ts";
import { encodeFailure, encodeRun, failureJsonSchema, runJsonSchema, toJson } from "../../../src/schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../../../src/schema/versions.ts";
import { demoReport } from "../../fixtures/run-report.ts";

describe("the object of --json", () => {
  test("has the top-level fields that programs rely on", () => {
    const json = encodeRun(demoReport());
    for (const name of [
      "schema_version",
      "run_dir",
      "run_id",
      "model_id",
      "validity",
      "reasons",
      "warnings",
      "collectors",
      "target",
      "ledger",
      "observer",
      "labels",
      "metrics",
    ]) {
      expect(json).toHaveProperty(name);
    }
  });

  test("has rows of metrics with exactly the columns of the table metrics", () => {
    const shape = runJsonSchema.shape.metrics.unwrap().element.shape;
    expect(Object.keys(shape)).toEqual(columnsOf("metrics").map(({ name }) => name));
    for (const { name, nullable } of columnsOf("metrics")) {
      if (nullable) expect(shape[name as keyof typeof shape].safeDecode(null as never).success).toBe(true);
    }
  });

  test("writes every u64 as a decimal string, whether it was held as number or bigint", () => {
    const base = demoReport();
    const json = encodeRun(demoReport({ observer: { ...base.observer, traps: 2n ** 64n - 1n, trap_ns: 7 } }));
    expect(json.observer.traps).toBe("18446744073709551615");
    expect(json.observer.trap_ns).toBe("7");
    expect(json.ledger[0]).toMatchObject({ seen: "61203", dropped_by: { ring_full: "13" } });
    expect(json.metrics[0]?.n).toBe("64");
    expect(json.labels[0]?.bytes).toBe("123800000");
  });

  test("refuses a count that is none, as that is a bug of ours", () => {
    const base = demoReport();
    expect(() => encodeRun(demoReport({ observer: { ...base.observer, traps: 1.5 } }))).toThrow();
    expect(() => encodeRun(demoReport({ observer: { ...base.observer, traps: -1n } }))).toThrow();
  });

  test("of a failure carries the message, the hint and the exit code", () => {
    const json = encodeFailure(new MrmTraceError("environment", "no BTF", "boot a kernel with BTF"), null);
    expect(failureJsonSchema.parse(JSON.parse(toJson(json)))).toEqual({
      schema_version: JSON_SCHEMA_VERSION,
      error: { code: "environment", message: "no BTF", hint: "boot a kernel with BTF", exit_code: 3 },
      run_dir: null,
    });
  });

  test("any value becomes JSON: bigints as strings, arrays of any type, never NaN", () => {
    expect(
      toJson({
        a: 1n,
        b: Number.NaN,
        c: [Number.POSITIVE_INFINITY],
        d: new BigUint64Array([3n]),
        e: new Float64Array([0.5, Number.NaN]),
      }),
    ).toBe('{"a":"1","b":null,"c":[null],"d":["3"],"e":[0.5,null]}');
    expect(toJson(undefined)).toBe("null");
  });
});
