import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { judgeKernel, kernelFacts } from "../../../src/doctor/kernel.ts";
import { roomFacts } from "../../../src/doctor/room.ts";
import { hostFacts } from "../../../src/overhead/host.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-facts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let machines = 0;

/** A machine with these files. */
function machine(files: Readonly<Record<string, string | Uint8Array>>): string {
  machines += 1;
  const root = join(folder, String(machines));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

describe("the facts of the kernel", () => {
  test("are read where the kernel shows them", () => {
    const root = machine({
      "proc/sys/kernel/osrelease": "6.1.0-37-amd64\n",
      "proc/sys/kernel/kptr_restrict": "2\n",
      "proc/filesystems": "nodev\tsysfs\nnodev\tsecurityfs\n\text4\n",
      "sys/kernel/security/lockdown": "none integrity [confidentiality]\n",
      "sys/kernel/tracing/events/header": "",
    });
    expect(kernelFacts(hostFacts(root), root)).toMatchObject({
      release: "6.1.0-37-amd64",
      btf: false,
      tracefs: true,
      lockdown: "confidentiality",
      securityfs: "mounted",
      kptr_restrict: 2,
    });
  });

  test("tell securityfs that is not mounted from one that the kernel lacks", () => {
    const known = machine({ "proc/filesystems": "nodev\tsecurityfs\n" });
    mkdirSync(join(known, "sys/kernel/security"), { recursive: true });
    expect(kernelFacts(hostFacts(known), known).securityfs).toBe("not mounted");
    const lacking = machine({ "proc/filesystems": "nodev\tsysfs\n" });
    expect(kernelFacts(hostFacts(lacking), lacking).securityfs).toBe("unknown to this kernel");
  });

  test("take an empty folder for a tracefs that is not mounted", () => {
    const root = machine({ "sys/kernel/vmcoreinfo": "" });
    mkdirSync(join(root, "sys/kernel/tracing"));
    expect(kernelFacts(hostFacts(root), root).tracefs).toBe(false);
  });

  test("are judged where /proc is hostile", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (kptr) => {
        const root = machine({ "proc/sys/kernel/kptr_restrict": kptr });
        expect(judgeKernel(kernelFacts(hostFacts(root), root)).length).toBeGreaterThan(0);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the facts of room", () => {
  test("are those of the nearest folder that is there", async () => {
    const root = machine({ "results/file": "" });
    const facts = await roomFacts(join(root, "results/a/b"), 1);
    expect(facts).toMatchObject({ folder: join(root, "results"), writable: true, output: join(root, "results/a/b") });
    expect(facts.free_bytes).toBeGreaterThan(0);
  });

  test("say that a file is no folder to write into", async () => {
    const root = machine({ "results/file": "" });
    expect((await roomFacts(join(root, "results/file"), 1)).writable).toBe(false);
  });
});
