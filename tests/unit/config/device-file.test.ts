import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020";
import { parse } from "yaml";
import { schemaText } from "../../../src/commands/schema.ts";
import { readDevice } from "../../../src/config/device-file.ts";
import { DEVICE_FIGURES, UNKNOWN } from "../../../src/config/device-schema.ts";
import { presetNames, presetPath, readPreset } from "../../../src/config/devices/preset-devices.ts";
import { DEVICE_YAML } from "../../fixtures/asked-of-memory.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-device-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "device.yaml");

function read(text: string) {
  writeFileSync(path, text);
  return readDevice(path);
}
const refusal = (word: () => unknown): { code: string; message: string; hint: string } => {
  try {
    word();
  } catch (error) {
    return error as { code: string; message: string; hint: string };
  }
  throw new Error("taken");
};

describe("a device file", () => {
  test("needs a name alone: every figure that is left out is unknown", () => {
    const device = read("name: bare");
    for (const figure of DEVICE_FIGURES) expect(device[figure]).toBe(UNKNOWN);
    expect(device.refreshed_by).toBe("software");
  });

  test("has quantities with their unit, as bytes, bytes per second, ns and pJ per byte", () => {
    expect(read(DEVICE_YAML)).toMatchObject({
      capacity: { value: 1e9, source: "invented" },
      bandwidth: { value: 16e9 },
      read_energy: { value: 40 },
      retention: { value: 4e9 },
      endurance: { value: 1e6 },
    });
    expect(read("name: a\nretention: { from: 1h, to: 7d }").retention).toEqual({ from: 3600e9, to: 7 * 86_400e9 });
  });

  test.each([
    ["{}", "name: missing"],
    ["name: a\ncapcity: { value: 1GB }", "did you mean capacity?"],
    ["name: a\ncapacity: { vlaue: 1GB }", "did you mean value?"],
    ["name: a\ncapacity: 1GB", "a mapping such as { value: 16GiB, source: data sheet } or the word unknown expected"],
    ["name: a\ncapacity: { value: 64 }", "text with its unit expected, such as 16GiB, but received 64"],
    ["name: a\ncapacity: { value: 4s }", "a size with its unit expected (write it as 64MB or 1GiB)"],
    ["name: a\nbandwidth: { value: 64GB }", "a rate with its unit expected (write it as 25.6GB/s or 64GiB/s)"],
    ["name: a\nread_energy: { value: 4pJ }", "an energy with its unit expected (write it as 3.9pJ/bit or 30pJ/byte)"],
    ["name: a\nretention: { value: 10y }", "a duration expected"],
    ["name: a\nendurance: { value: -1 }", "a number from 1 expected"],
    ["name: a\nendurance: {}", "value, from or to expected"],
    ["name: a\nendurance: { value: 10, to: 20 }", "either value, or from and to expected"],
    ["name: a\nendurance: { from: 20, to: 10 }", "from is above to"],
    [`name: a\ncapacity: { value: ${"9".repeat(400)}GB }`, "capacity"],
    ["name: a\nrefreshed_by: nobody", "one of device, software expected"],
    ["- a", "a mapping of keys to values expected"],
    ["name: [", "device.yaml:1:"],
    ["", "is empty"],
  ])("is refused with the place and the fix: %s", (text, words) => {
    const { code, message, hint } = refusal(() => read(text));
    expect(code).toBe("usage");
    expect(`${message}\n${hint}`).toContain(words);
    expect(`${message}\n${hint}`).not.toMatch(/Invalid input|NaN/);
    expect(hint).toContain("mrm-trace");
  });

  test("is looked for by its name among the presets, and the nearest is told", () => {
    expect(refusal(() => readDevice("hmb"))).toMatchObject({ code: "usage", hint: "did you mean hbm?" });
    expect(refusal(() => readDevice("quartz")).hint).toContain("one of dram, hbm");
    expect(refusal(() => readDevice("./nothing.yaml")).message).toContain("cannot be read as a memory device");
  });

  test("is taken and refused by the JSON Schema as by the program", async () => {
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
      JSON.parse(await schemaText("device", false)),
    );
    for (const text of [DEVICE_YAML, "name: a\ncapacity: unknown"])
      expect([text, validate(parse(text))]).toEqual([text, true]);
    for (const text of ["{}", "name: a\ncapacity: 1GB", "name: a\nsize: 1", "name: a\nendurance: { value: 0 }"]) {
      expect([text, validate(parse(text))]).toEqual([text, false]);
    }
  });
});

describe("the presets", () => {
  test("are the kinds of memory that people compare", () => {
    expect(presetNames()).toEqual(["dram", "hbm", "lpddr", "managed-retention", "nand", "pcm", "rram", "stt-mram"]);
  });

  test.each(presetNames())("%s is the same to both parsers", (name) => {
    expect(readPreset(name)).toEqual(readDevice(name));
  });

  test.each(presetNames())(
    "%s has for each figure that it states a source, its kind and an address, and states one at least",
    (name) => {
      const device = readDevice(name);
      const stated = DEVICE_FIGURES.flatMap((figure) => {
        const given = device[figure];
        return given === UNKNOWN ? [] : [given];
      });
      expect(stated.length).toBeGreaterThan(0);
      for (const { source, kind, url } of stated) {
        expect(source).toMatch(/\d{4}|data sheet/);
        expect(["primary", "secondary"]).toContain(kind ?? "none");
        expect(url).toMatch(/^https:\/\//);
      }
      expect(device.about).toMatch(/\.$/);
      expect(presetPath(name)).toEndWith(`config/devices/${name}.yaml`);
    },
  );
});
