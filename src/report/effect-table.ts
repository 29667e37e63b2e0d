/** What `compare` of arms prints for people: one column per arm, one row per figure, verdicts and what they rest on. */

import { MOST_REPEATS } from "../config/compare.ts";
import {
  type ArmEffect,
  EFFECT_FIGURES,
  type EffectFigure,
  FIGURE_NAMES,
  type FigureEffect,
  type ObserverEffect,
  OFF,
  OFF_AGAIN,
} from "../schema/observer-effect.ts";
import type { Verdict } from "../schema/words.ts";
import { formatBytes, formatCount, formatNs } from "../units.ts";
import { effectRequestsText } from "./effect-requests.ts";
import { type GridRow, grid } from "./grid.ts";
import { type Ink, type Line, render, type Span, type Terminal, wrap } from "./terminal.ts";

const VERDICT_INK: Record<Verdict, Ink> = { PASS: "good", FAIL: "bad", INCONCLUSIVE: "warn" };
const KEY_WIDTH = 11;

const finite = (value: number | null): value is number => value !== null && Number.isFinite(value);

/** A percentage to two decimals, its sign always shown: a slowdown may be a gain. */
function pct(value: number): string {
  return `${value > 0 ? "+" : ""}${value.toFixed(2)}`;
}

function effectCell({ slowdown_pct: { value, lo, hi }, verdict, blocks }: FigureEffect): Line {
  if (!finite(value) || blocks === 0) return [{ text: "unknown", ink: "warn" }];
  // One block is one number: without a second one nothing says how far it wanders.
  if (!finite(lo) || !finite(hi)) return [{ text: "one block: no interval", ink: "warn" }];
  return [
    { text: `${pct(value)} %`, ink: "bold" },
    { text: ` [${pct(lo)}, ${pct(hi)}]`, ink: "dim" },
    { text: ` ${verdict}`, ink: VERDICT_INK[verdict] },
  ];
}

function plain(text: string): Line {
  return [{ text }];
}

const orDash = (value: number | null, text: (value: number) => string): Line =>
  plain(finite(value) ? text(value) : "-");

function costCell({ cost_per_event_ns: cost }: ArmEffect): Line {
  if (cost === null || !finite(cost.value) || !finite(cost.lo) || !finite(cost.hi)) return plain("-");
  // No event gives time back: what may be none is a bound, and what is below none was not measurable.
  if (cost.hi <= 0) return plain("none seen");
  if (cost.lo <= 0) return plain(`<= ${formatNs(cost.hi)}`);
  return [{ text: formatNs(cost.value) }, { text: ` [${formatNs(cost.lo)}, ${formatNs(cost.hi)}]`, ink: "dim" }];
}

/** By what single blocks cannot move, and by order alone: far from the figure above, few blocks decide that one. */
function checkCell({ figures }: ArmEffect, deciding: EffectFigure): Line {
  const found = figures.find(({ figure }) => figure === deciding);
  if (found === undefined || !finite(found.hodges_lehmann_pct)) return plain("-");
  return [
    { text: `${pct(found.hodges_lehmann_pct)} %` },
    { text: ` p ${found.wilcoxon_p.toPrecision(2)}`, ink: "dim" },
  ];
}

function rowsOf(arms: readonly ArmEffect[], deciding: EffectFigure): GridRow[] {
  const measured = FIGURE_NAMES.filter((name) =>
    arms.some(({ figures }) => figures.some(({ figure }) => figure === name)),
  );
  const figures = measured.map((name) => ({
    label: `  ${EFFECT_FIGURES[name].what}`,
    cells: arms.map((arm) => {
      const found = arm.figures.find(({ figure }) => figure === name);
      return found === undefined ? plain("-") : effectCell(found);
    }),
  }));
  const traced = (cell: (arm: ArmEffect) => Line): Line[] =>
    arms.map((arm) => (arm.arm === OFF_AGAIN ? plain("-") : cell(arm)));
  return [
    { label: "worse than off by", heading: true, cells: [] },
    ...figures,
    { label: `  check: ${EFFECT_FIGURES[deciding].what}`, cells: arms.map((arm) => checkCell(arm, deciding)) },
    { label: "by run", heading: true, cells: [] },
    { label: "  events kept", cells: traced(({ events_kept }) => orDash(events_kept, formatCount)) },
    {
      label: "  events lost",
      cells: traced(({ events_lost, loss_pct }) =>
        orDash(events_lost, (lost) => (lost > 0 ? `${formatCount(lost)} (${formatCount(loss_pct ?? 0)} %)` : "0")),
      ),
    },
    { label: "  bytes per event", cells: traced((arm) => orDash(arm.capture_bytes_per_event, formatCount)) },
    { label: "  cost per event", cells: traced(costCell) },
    { label: "  tracer, % of a CPU", cells: traced(({ tracer_cpu_pct }) => orDash(tracer_cpu_pct, formatCount)) },
    { label: "  tracer, memory", cells: traced(({ tracer_rss_bytes }) => orDash(tracer_rss_bytes, formatBytes)) },
    {
      label: "verdict",
      cells: arms.map(({ verdict }) => [{ text: verdict, ink: VERDICT_INK[verdict] }]),
    },
  ];
}

function entry(key: string, text: string, width: number, ink: Ink = "plain"): Line[] {
  return wrap(text, Math.max(10, width - KEY_WIDTH)).map((part, i) => [
    { text: i === 0 ? key.padEnd(KEY_WIDTH) : " ".repeat(KEY_WIDTH), ink: "dim" },
    { text: part, ink },
  ]);
}

function settingsText({ settings }: ObserverEffect): string {
  const set = Object.entries(settings.environment).map(([name, value]) => `${name}=${value}`);
  const cpus = (list: readonly number[]): string => `CPU ${list.join(",")}`;
  const threads = settings.threads === null ? "threads not seen" : `${settings.threads} threads at most`;
  const threadWords = settings.engine_threads === null ? "" : `, the engine was told ${settings.engine_threads}`;
  const openMp = set.length === 0 ? "no OpenMP variable set" : set.join(" ");
  return `${threads}${threadWords}; target on ${cpus(settings.target_cpus)}, tools on ${cpus(settings.tool_cpus)}; ${openMp}`;
}

/** Tokens of the runs that count, as our client and as the engine counted them; nothing where there is no client. */
function tokensText({ runs }: ObserverEffect): string | null {
  const served = runs.filter(({ block, streamed_tokens }) => block >= 0 && streamed_tokens !== null);
  if (served.length === 0) return null;
  const streamed = served.reduce((sum, run) => sum + (run.streamed_tokens ?? 0), 0);
  const counted = served.some(({ engine_tokens }) => engine_tokens === null)
    ? "the engine says no count"
    : `${formatCount(served.reduce((sum, run) => sum + (run.engine_tokens ?? 0), 0))} as the engine counts them`;
  return `${formatCount(streamed)} streamed to the client, ${counted}`;
}

/** From the least to the most of the clients, where they differ. */
function rangeText(values: readonly (number | null)[]): string | null {
  const times = values.filter(finite);
  if (times.length === 0) return null;
  const [least, most] = [Math.min(...times), Math.max(...times)].map((ms) => formatNs(ms * 1e6));
  return least === most ? `${least}` : `${least} to ${most}`;
}

/** Several clients at once, and how alike they were served without a tracer; nothing where there is one or none. */
function clientsText({ workload: { load }, runs }: ObserverEffect): string | null {
  if (load === undefined || load.clients < 2) return null;
  const alone = runs.filter(({ block, arm }) => block >= 0 && arm === OFF).flatMap(({ clients = [] }) => clients);
  const all = runs.filter(({ block }) => block >= 0).flatMap(({ clients = [] }) => clients);
  const requests = all.reduce((sum, client) => sum + client.requests, 0);
  const [first, between] = [alone.map(({ ttft_ms }) => ttft_ms), alone.map(({ token_p50_ms }) => token_p50_ms)].map(
    rangeText,
  );
  return [
    `${load.clients} at once, ${formatCount(requests)} requests in all arms`,
    ...(first == null ? [] : [`without a tracer, by client and run, first token p50 ${first}`]),
    ...(between == null ? [] : [`between tokens p50 ${between}`]),
  ].join("; ");
}

/** So many repeats, or what to do where they cannot be asked for. */
function neededText(repeats: number): string {
  if (repeats <= MOST_REPEATS) return `about --repeats ${repeats}`;
  return `more than the ${MOST_REPEATS} that --repeats takes, a larger --margin, or runs that take longer,`;
}

/** What keeps arms from a verdict, and what would help; of a machine that is too noisy it is said once. */
function reasons(effect: ObserverEffect, width: number): Line[] {
  const decidingOf = ({ figures }: ArmEffect) => figures.find(({ figure }) => figure === effect.deciding_figure);
  const isNoisy = effect.arms.some((arm) => arm.arm === OFF_AGAIN && arm.verdict !== "PASS");
  return effect.arms.flatMap((arm) => {
    if (arm.unavailable !== null) return entry("", `${arm.arm}: cannot run here: ${arm.unavailable}`, width, "warn");
    const deciding = decidingOf(arm);
    if (deciding === undefined || deciding.why === null || (isNoisy && arm.arm !== OFF_AGAIN)) return [];
    const needed = deciding.repeats_needed;
    const help = needed === null ? "" : `; ${neededText(needed)} would be needed`;
    const claims = arm.arm === OFF_AGAIN ? ", so that nothing is claimed of any arm" : "";
    return entry("", `${arm.arm}: ${deciding.why}${claims}${help}`, width, "warn");
  });
}

/** The comparison as text; every line fits into the terminal. */
export function renderEffect(effect: ObserverEffect, folder: string, terminal: Terminal): string {
  const { width, unicode } = terminal;
  const shown = effect.arms.filter(({ unavailable }) => unavailable === null);
  const what = EFFECT_FIGURES[effect.deciding_figure].what;
  const tokens = tokensText(effect);
  const clients = clientsText(effect);
  const requests = effectRequestsText(effect);
  const head: Span[] = [
    { text: "observer effect  ", ink: "dim" },
    { text: effect.workload.kind, ink: "bold" },
    { text: `  ${effect.workload.command.join(" ")}`, ink: "dim" },
  ];
  const how =
    `${effect.blocks} ${effect.blocks === 1 ? "block" : "blocks"} of every arm twice in mirrored random order; a cell reads: worse by % [95 % interval over blocks: BCa, or Student's t where that reaches farther] verdict. ` +
    `PASS: the one-sided 95 % bound is below the margin of ${effect.margin_pct} %; FAIL: above it. ` +
    `An arm is judged by its ${what} (check: by Hodges and Lehmann, and p of the signed-rank test); off-again is off once more and must pass first.`;
  return render(
    [
      head,
      ...entry("settings", settingsText(effect), width),
      ...(tokens === null ? [] : entry("tokens", tokens, width)),
      ...(clients === null ? [] : entry("clients", clients, width)),
      ...(requests === null ? [] : entry("requests", requests, width)),
      [],
      ...grid(
        shown.map(({ arm }) => arm),
        rowsOf(shown, effect.deciding_figure),
        width,
        unicode ? "─" : "-",
      ),
      [],
      ...wrap(how, width).map((text) => [{ text, ink: "dim" } as const]),
      ...reasons(effect, width),
      ...effect.warnings.flatMap((text) => entry("warning", text, width, "warn")),
      ...entry("files", folder, width),
    ],
    terminal,
  );
}
