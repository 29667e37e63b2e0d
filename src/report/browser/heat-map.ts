/** The map of addresses as something to use: pointer and keys zoom and move it, and what lies under them is inWords in words. */
import { formatBytes, formatCount, formatCounted, formatNs } from "../../units.ts";
import type { RunData } from "../page/data/page-data.ts";
import { element, whyNot } from "./elements.ts";
import { cellsOf, countsAt, momentOf, regionAt } from "./heat-data.ts";
import { mapArea, paint, type Scene } from "./heat-paint.ts";
import { moved, type View, zoomed } from "./heat-view.ts";
import { whenResized } from "./resized.ts";

const HEIGHT = 560;
const ZOOM = 1.6;
const STEP = 0.15;
/** Around the pointer, in CSS pixels. */
const REACH = 3;

const HINT = "Drag to move, Ctrl and wheel or the buttons to zoom; with the keyboard arrows, + and -, 0 for the whole.";

function inkOf(): Scene["ink"] {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  return { text: color("--text"), faint: color("--faint"), write: color("--write"), memory: color("--memory") };
}

/** What lies at a place of the map, in words. */
function wordsAt(scene: Scene, view: View, x: number, y: number): string {
  const { run, heat, cells } = scene;
  const area = mapArea(scene);
  const time_ms = view.begin + ((x - area.left) / area.width) * (view.end - view.begin);
  const row = view.top + ((y - area.top) / area.height) * (view.bottom - view.top);
  const { token, phase } = momentOf(run, time_ms);
  const when = [
    formatNs(time_ms * 1e6),
    ...(phase === null ? [] : [phase.replace("_", " ")]),
    ...(token === null ? [] : [`token ${token}`]),
  ].join(", ");
  const found = "why" in run.regions ? null : regionAt(run.regions.data, row, time_ms);
  if (found === null || "why" in run.regions) return when;
  const regions = run.regions.data;
  const name = regions.name[found] || "unnamed";
  const layer = regions.layer[found] ?? null;
  const reach = [
    (REACH / area.width) * (view.end - view.begin) * (heat.columns / run.duration_ms) + heat.cell_size / 2,
    (REACH / area.height) * (view.bottom - view.top) + heat.cell_size / 2,
  ] as const;
  const { reads, writes } = countsAt(heat, cells, (time_ms * heat.columns) / run.duration_ms, row, reach);
  const seen =
    reads + writes === 0
      ? "no access seen here"
      : `${formatCount(reads)} reads and ${formatCount(writes)} writes seen here`;
  const place = `${run.classes[regions.class[found] ?? 0]}${layer === null ? "" : `, layer ${layer}`}, ${formatBytes(regions.size_bytes[found] ?? 0)} at 0x${regions.addr[found]}`;
  return `${name}\n${place}\n${when}\n${seen}`;
}

/** Puts the map of a run into its place. */
export function drawHeatMap(place: HTMLElement, run: RunData): void {
  if ("why" in run.heat) {
    place.replaceChildren(whyNot(run.heat.why));
    return;
  }
  const heat = run.heat.data;
  const cells = cellsOf(heat);
  const whole: View = { begin: 0, end: run.duration_ms, top: 0, bottom: heat.rows };
  let view = whole;
  const classes = heat.bands.map((band) => run.classes[band.class]).join(", ");
  const canvas = element("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": `Accesses by time and address: ${classes}, over ${formatNs(run.duration_ms * 1e6)}. The table of regions below has the same regions as text.`,
  });
  const inWords = element("p", { class: "heat-words", role: "status" }, HINT);
  const pen = canvas.getContext("2d");
  if (pen === null) return;

  function sceneOf(): Scene {
    return { run, heat, cells, width: canvas.clientWidth, height: HEIGHT, ink: inkOf() };
  }
  let asked = 0;
  function repaint(): void {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(() => {
      const scene = sceneOf();
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.round(scene.width * ratio);
      canvas.height = Math.round(HEIGHT * ratio);
      pen?.setTransform(ratio, 0, 0, ratio, 0, 0);
      const begin = performance.now();
      if (pen !== null) paint(pen, scene, view);
      canvas.dataset.painted_ms = (performance.now() - begin).toFixed(1);
      canvas.dataset.view = JSON.stringify(view);
    });
  }
  function look(next: View): void {
    view = next;
    repaint();
  }

  const button = (text: string, name: string, act: () => void): HTMLButtonElement => {
    const made = element("button", { type: "button", "aria-label": name }, text);
    made.addEventListener("click", act);
    return made;
  };
  const tools = element(
    "div",
    { class: "tools" },
    button("+", "zoom in", () => look(zoomed(view, whole, ZOOM))),
    button("−", "zoom out", () => look(zoomed(view, whole, 1 / ZOOM))),
    button("whole", "show the whole run", () => look(whole)),
    element("span", { class: "key write" }, "written"),
    element("span", { class: "key read" }, "read, in the colour of its class"),
    ...(heat.looks.looks === 0 ? [] : [element("span", { class: "key looked" }, "watched, and not used then")]),
    element("span", { class: "key mapped" }, "mapped, not looked at"),
    ...["prefill", "decode"]
      .filter((name) => run.phases.some(({ step }) => step === name))
      .map((name) => element("span", { class: `key ${name}` }, name)),
  );

  const keys: Readonly<Record<string, () => View>> = {
    ArrowLeft: () => moved(view, whole, -STEP, 0),
    ArrowRight: () => moved(view, whole, STEP, 0),
    ArrowUp: () => moved(view, whole, 0, -STEP),
    ArrowDown: () => moved(view, whole, 0, STEP),
    "+": () => zoomed(view, whole, ZOOM),
    "=": () => zoomed(view, whole, ZOOM),
    "-": () => zoomed(view, whole, 1 / ZOOM),
    "0": () => whole,
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    look(act());
    const area = mapArea(sceneOf());
    inWords.textContent = wordsAt(sceneOf(), view, area.left + area.width / 2, area.top + area.height / 2);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      const area = mapArea(sceneOf());
      const [x, y] = [(event.offsetX - area.left) / area.width, (event.offsetY - area.top) / area.height];
      look(zoomed(view, whole, event.deltaY < 0 ? ZOOM : 1 / ZOOM, x, y));
    },
    { passive: false },
  );
  let dragged: readonly [number, number] | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    dragged = [event.offsetX, event.offsetY];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => {
    dragged = null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const scene = sceneOf();
    const area = mapArea(scene);
    if (dragged !== null) {
      look(moved(view, whole, (dragged[0] - event.offsetX) / area.width, (dragged[1] - event.offsetY) / area.height));
      dragged = [event.offsetX, event.offsetY];
      return;
    }
    const inside = event.offsetX >= area.left && event.offsetY >= area.top && event.offsetY <= area.top + area.height;
    inWords.textContent = inside ? wordsAt(scene, view, event.offsetX, event.offsetY) : HINT;
  });
  canvas.addEventListener("dblclick", (event) => {
    const area = mapArea(sceneOf());
    look(zoomed(view, whole, 2, (event.offsetX - area.left) / area.width, (event.offsetY - area.top) / area.height));
  });

  place.replaceChildren(tools, canvas, inWords);
  if (heat.elsewhere > 0) {
    place.append(
      element("p", { class: "about" }, `In no region of this map: ${formatCounted(heat.elsewhere, "access")}.`),
    );
  }
  whenResized(canvas, repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  repaint();
}
