#!/usr/bin/env bun
/**
 * What an engine's probes cost a process that decodes, as CPU time of a token: they are taken away and put back by turns, in one process
 * and one session, so that what an engine learns once is learnt. Needs root, and links of many probes (Linux 6.6).
 *   bun scripts/probe-cost.ts --pid PID --url URL --model NAME [--blocks N] [--api openai|ollama]   streams answers from its server
 *   bun scripts/probe-cost.ts --pid PID --log FILE [--blocks N]   FILE: per token a line, CLOCK_MONOTONIC and CPU time in ns, and its position
 * The server's process is another one where one that it starts computes: then that one is named by --pid.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ask } from "../src/client/ask.ts";
import { createEngineObjects } from "../src/collect/ebpf/engine/engine-objects.ts";
import { mappedObjects, symbolAddresses } from "../src/collect/ebpf/engine/symbol-address.ts";
import { snapshotRows } from "../src/collect/ebpf/lifecycle/maps-look.ts";
import { openFileBytes } from "../src/elf/file-bytes.ts";
import { ENGINES } from "../src/engine/engines.ts";
import type { LinkMany } from "../src/engine/probing/object-probes.ts";
import { createEngineSession } from "../src/engine/probing/session.ts";
import { u32Bytes } from "../src/kernel/bpf-map.ts";
import { addressOf } from "../src/kernel/foreign-memory.ts";
import { libc, monotonicNs } from "../src/kernel/libc.ts";
import { openBpfObject } from "../src/kernel/open-bpf-object.ts";
import { readRemote } from "../src/kernel/remote-memory.ts";
import { linkUprobeMulti } from "../src/kernel/uprobe-multi.ts";
import { compareArms } from "../src/overhead/ab.ts";
import { mirroredOrder } from "../src/overhead/arm-order.ts";
import { median } from "../tests/performance/bench-row.ts";

const TURN_MS = 500;
/** Putting probes into a file, and taking them away, ends within this; tokens that begin before are left out, in both arms. */
const SETTLE_MS = 80;
const LEAD_MS = 12_000;
/** As a recorder rests that is told of an engine: 10 to 20 ms. */
const DRAIN_MS = 15;
const MARGIN_PCT = 0.5;
const SEED = 20_250_101;
const ANSWER_TOKENS = 200;
/** Tokens whose positions differ by less are alike: a longer context takes longer. */
const ALIKE = 16;

interface Token {
  readonly begin_ns: number;
  readonly end_ns: number;
  /** CPU time of its process meanwhile. */
  readonly cpu_ns: number;
  readonly position: number;
}

const timespec = new BigInt64Array(2);
/** CPU time of all threads of a process, also of those that are gone (CPUCLOCK_SCHED of include/linux/posix-timers.h). */
function cpuNs(pid: number): number {
  if (libc.clock_gettime((~pid << 3) | 2, addressOf(timespec)) !== 0) throw new Error(`${pid} is gone`);
  return Number(timespec[0]) * 1e9 + Number(timespec[1]);
}

/** Links that are there and away together. */
function probeSwitch() {
  interface Held {
    readonly put: () => Disposable;
    current: Disposable | null;
  }
  const all = new Set<Held>();
  let isOn = true;
  const linkMany: LinkMany = (fd, places) => {
    const bytes = openFileBytes(places.path);
    if (bytes === null) throw new Error(`${places.path} cannot be opened`);
    const put = () => linkUprobeMulti(fd, { ...places, path: bytes.heldPath });
    const held: Held = { put, current: isOn ? put() : null };
    all.add(held);
    const end = (): void => {
      all.delete(held);
      held.current?.[Symbol.dispose]();
      bytes[Symbol.dispose]();
    };
    return { closeAside: end, [Symbol.dispose]: end };
  };
  return {
    linkMany,
    set(wanted: boolean): void {
      if (wanted === isOn) return;
      isOn = wanted;
      for (const held of all) {
        held.current?.[Symbol.dispose]();
        held.current = wanted ? held.put() : null;
      }
    },
  };
}

/** Asks a server for one answer after the other until told to end; a token for each event with its time. */
async function stream(url: string, model: string, api: string, pid: number, tokens: Token[], ended: () => boolean) {
  for (let answer = 0; !ended(); answer++) {
    const prompt = `${answer} ${"the fox sleeps ".repeat(6)}`;
    const [path, body] =
      api === "ollama"
        ? [
            "/api/generate",
            { prompt, raw: true, options: { num_predict: ANSWER_TOKENS, temperature: 1, seed: answer } },
          ]
        : ["/v1/completions", { prompt, max_tokens: ANSWER_TOKENS, ignore_eos: true, temperature: 1, seed: answer }];
    const response = await ask(`${url}${path}`, new AbortController().signal, {
      model,
      stream: true,
      ...(body as object),
    });
    if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
    let before: { at_ns: number; cpu_ns: number } | null = null;
    let position = 0;
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      const now = { at_ns: Number(monotonicNs()), cpu_ns: cpuNs(pid) };
      const text = decoder.decode(chunk, { stream: true });
      const events = text
        .split("\n")
        .filter((line) => line.startsWith("data: {") || line.startsWith('{"model"')).length;
      if (before !== null && events === 1) {
        tokens.push({ begin_ns: before.at_ns, end_ns: now.at_ns, cpu_ns: now.cpu_ns - before.cpu_ns, position });
      }
      position += events;
      if (events > 0) before = now;
      if (ended()) return;
    }
  }
}

function readLog(path: string): Token[] {
  const lines = readFileSync(path, "utf8").trim().split("\n");
  const rows = lines.map((line) => line.split(" ").map(Number) as [number, number, number]).slice(0, -1);
  return rows.flatMap(([end_ns, cpu, position], i) => {
    const [begin_ns, cpuBefore, last] = rows[i - 1] ?? [0, 0, -1];
    return position === last + 1 && i > 0 ? [{ begin_ns, end_ns, cpu_ns: cpu - cpuBefore, position }] : [];
  });
}

const { values } = parseArgs({
  options: {
    ...{ pid: { type: "string" }, url: { type: "string" }, model: { type: "string", default: "" } },
    ...{
      api: { type: "string", default: "openai" },
      log: { type: "string" },
      blocks: { type: "string", default: "100" },
    },
  },
});
const pid = Number(values.pid);
using owner = await openBpfObject("engine");
const targets = owner.map("targets");
targets.update(u32Bytes(pid).subarray(0, 4), new Uint8Array(8));
const probes = probeSwitch();
const look = <T>(read: () => T): T => read();
const session = await createEngineSession({
  ...{ targetsFd: targets.fd, openObject: openBpfObject, readMemory: readRemote, engines: ENGINES },
  ...{ addressOf: symbolAddresses(look), objectAt: mappedObjects(look), linkMany: probes.linkMany },
});
await createEngineObjects(session).offer(snapshotRows(pid, 0, look) ?? []);
const timer = setInterval(() => void session.drain(), DRAIN_MS);
const tokens: Token[] = [];
let isEnded = false;
const asking = values.url
  ? stream(values.url, values.model, values.api, pid, tokens, () => isEnded)
  : Promise.resolve();
await Bun.sleep(LEAD_MS);
const turns: {
  readonly on: boolean;
  readonly begin_ns: number;
  readonly end_ns: number;
  /** Of those alone whose tokens count. */
  readonly hits: number;
}[] = [];
for (const arm of mirroredOrder<"off" | "on">(["off", "on"], Number(values.blocks), SEED).flat()) {
  const switched_ns = Number(monotonicNs());
  probes.set(arm === "on");
  await Bun.sleep(SETTLE_MS);
  const begin_ns = Number(monotonicNs());
  const before = session.hitCost().hits;
  await Bun.sleep(Math.max(0, TURN_MS - (begin_ns - switched_ns) / 1e6));
  turns.push({ on: arm === "on", begin_ns, end_ns: Number(monotonicNs()), hits: session.hitCost().hits - before });
}
clearInterval(timer);
isEnded = true;
await asking;
session.stop();
if (values.log !== undefined) tokens.push(...readLog(values.log));

const inTurn = (turn: (typeof turns)[number]): Token[] =>
  tokens.filter(({ begin_ns, end_ns }) => begin_ns >= turn.begin_ns && end_ns <= turn.end_ns);
function ratio(cost: (token: Token) => number, middle: (values: readonly number[]) => number): string {
  const usual = new Map(
    [...Map.groupBy(tokens, ({ position }) => Math.floor(position / ALIKE))].map(([key, those]) => [
      key,
      median(those.map(cost)),
    ]),
  );
  const costs = turns.map((turn) => {
    const those = inTurn(turn).map(
      (token) => cost(token) / (usual.get(Math.floor(token.position / ALIKE)) ?? Number.NaN),
    );
    return { on: turn.on, cost: middle(those) };
  });
  const blocks = Array.from({ length: costs.length / 4 }, (_, i) => {
    const four = costs.slice(4 * i, 4 * i + 4);
    const arm = (on: boolean): number[] => four.filter((turn) => turn.on === on).map((turn) => turn.cost);
    return { off: arm(false), on: arm(true) };
  });
  const { slowdown_pct, hodges_lehmann_pct, sd_pct, blocks: count, verdict } = compareArms(blocks, MARGIN_PCT, SEED);
  const pct = (value: number): string => value.toFixed(2);
  return `${pct(slowdown_pct.value)} % [${pct(slowdown_pct.lo)}, ${pct(slowdown_pct.hi)}], Hodges-Lehmann ${pct(hodges_lehmann_pct)} %, sd ${pct(sd_pct)} % in ${count} blocks: ${verdict}`;
}
const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
const told = tokens.filter(({ begin_ns }) => begin_ns >= (turns[0]?.begin_ns ?? 0));
const on = turns.filter((turn) => turn.on);
/** Tokens that end in a turn: as many as begin in it. */
const ended = on.flatMap((turn) => tokens.filter(({ end_ns }) => end_ns > turn.begin_ns && end_ns <= turn.end_ns));
const hits = on.reduce((sum, turn) => sum + turn.hits, 0);
const { hits: all, stepped, mean_ns } = session.hitCost();
const each = `${((100 * stepped) / all).toFixed(1)} % of them stepped over, ${mean_ns?.toFixed(0) ?? "an unknown number of"} ns each where nothing else runs`;
process.stdout.write(
  `${told.length} tokens of ${(median(told.map(({ end_ns, begin_ns }) => end_ns - begin_ns)) / 1e6).toFixed(3)} ms, ${(median(told.map(({ cpu_ns }) => cpu_ns)) / 1e6).toFixed(3)} ms of CPU (medians); ${hits} hits, ${(hits / ended.length).toFixed(1)} a token; ${each}
CPU time of a token with probes, by medians of a turn: ${ratio(({ cpu_ns }) => cpu_ns, median)}
the same by means: ${ratio(({ cpu_ns }) => cpu_ns, mean)}
time of a token with probes, by medians: ${ratio(({ begin_ns, end_ns }) => end_ns - begin_ns, median)}
`,
);
process.exit(0);
