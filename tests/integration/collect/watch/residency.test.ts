import { expect, test } from "bun:test";
import { createDrawer, type DrawRegion } from "../../../../src/collect/ebpf/watch/draw.ts";
import { openResidency } from "../../../../src/collect/ebpf/watch/frame/residency.ts";
import { createResidentWords } from "../../../../src/collect/ebpf/watch/frame/resident-words.ts";
import { countLooks } from "../../../../src/kernel/looks.ts";
import { seededDraws, seededRandom } from "../../../../src/statistics/prng.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { lineReader } from "../../../fixtures/line-reader.ts";

const PAGE = 4096n;
const MIB = 64;
const BYTES = BigInt(MIB) << 20n;
const EVERY = 5n;

async function sparse() {
  const child = Bun.spawn([compileProgram("sparse-memory"), String(MIB), String(EVERY)], {
    stdin: "pipe",
    stdout: "pipe",
  });
  const base = BigInt((await lineReader(child.stdout)()) ?? 0);
  const region: DrawRegion = {
    pid: child.pid,
    addr: base,
    size_bytes: Number(BYTES),
    stratum: "unknown/anon",
    region_type: "unknown",
    tensor: null,
    resident_only: true,
  };
  return {
    pid: child.pid,
    base,
    region,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
    end: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

test("pages of another process are told apart by whether they were touched, one look each", async () => {
  await using program = await sparse();
  const looks = countLooks();
  using residency = openResidency(looks.kind("looks at pages", true));
  const { pid, base } = program;
  for (let page = 0n; page < 100n; page++) {
    expect(residency.isResident(pid, base + page * PAGE + 8n)).toBe(page % EVERY === 0n);
  }
  expect(residency.isResident(pid, base + BYTES / 2n)).toBe(false);
  expect(residency.firstResident(pid, base, base + BYTES)).toBe(base);
  expect(residency.firstResident(pid, base + PAGE, base + BYTES)).toBe(base + EVERY * PAGE);
  expect(residency.firstResident(pid, base + BYTES / 2n, base + BYTES)).toBe(base + BYTES);
  expect(looks.sums()).toEqual([{ what: "looks at pages", count: 104, ns: looks.ns, waits: true }]);
  expect(looks.ns).toBeGreaterThan(0);
});

test("words are drawn from the touched pages alone, with the bytes of those as their stratum's", async () => {
  await using program = await sparse();
  using residency = openResidency(countLooks().kind("looks at pages"));
  const resident = createResidentWords(residency, seededRandom(3));
  const drawer = createDrawer(seededDraws(3), resident);
  let mean = 0;
  const n = 120;
  for (let i = 0; i < n; i++) {
    const draw = drawer.draw([program.region]);
    if (draw === null) throw new Error("nothing drawn");
    const page = (draw.addr - program.base) / PAGE;
    expect(page < BYTES / PAGE / 2n && page % EVERY === 0n).toBe(true);
    mean += draw.stratumBytes / n;
  }
  const touched = Number(((BYTES / PAGE / 2n + EVERY - 1n) / EVERY) * PAGE);
  // 120 draws of 64 answers, each of which is right in 1 of 10: within 15 % but in 1 of 10,000 seeds.
  expect(Math.abs(mean / touched - 1)).toBeLessThan(0.15);
});

test("a process that has ended has no words to draw, whatever its mappings were", async () => {
  const program = await sparse();
  const { pid, base, region } = program;
  using before = openResidency(countLooks().kind("looks at pages"));
  expect(before.isResident(pid, base)).toBe(true);
  await program.end();
  using after = openResidency(countLooks().kind("looks at pages"));
  for (const residency of [before, after]) {
    expect(residency.isResident(pid, base)).toBe(false);
    const drawer = createDrawer(seededDraws(1), createResidentWords(residency, seededRandom(1)));
    expect(drawer.draw([region])).toBeNull();
  }
});
