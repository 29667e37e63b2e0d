/** What was in memory as areas: by class, layer and tensor what a look found of it, or where nobody looked what can have been. */
import { type HierarchyRectangularNode, hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import { formatBytes, formatNs } from "../../units.ts";
import type { RegionColumns, RunData } from "../page/data/page-data.ts";
import { colorOf, element, whyNot } from "./elements.ts";
import { whenResized } from "./resized.ts";

const HEIGHT = 380;
/** Smaller parts are drawn together as the rest of their layer. */
const LEAST_SHARE = 1 / 2000;
/** Width and height from which a name can be read. */
const READABLE = [46, 16] as const;

const REST = "smaller ones";

interface Part {
  readonly name: string;
  /** Area. */
  readonly bytes?: number;
  /** Bytes of address space. */
  readonly mapped?: number;
  /** True where the area is what was found in memory. */
  readonly isFound?: boolean;
  readonly parts?: Part[];
}

/** When the process had most memory, in ms of the run; the middle where nobody read its memory. */
function fullestMoment(run: RunData): number {
  if ("why" in run.timeline) return run.duration_ms / 2;
  const { time_ms, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes } = run.timeline.data;
  const sizes = time_ms.map((_, i) => (rss_anon_bytes[i] ?? 0) + (rss_file_bytes[i] ?? 0) + (rss_shmem_bytes[i] ?? 0));
  return time_ms[sizes.indexOf(Math.max(...sizes))] ?? 0;
}

/** An area for each region that has one, by its row. */
interface Areas {
  readonly rows: readonly number[];
  readonly bytesOf: (row: number) => number;
  /** True where a look found them; else they are upper ends. */
  readonly isFound: boolean;
}

/** What the look that found most in memory found of each region; null where nobody looked. */
function foundAreas({ resident_bytes }: RegionColumns): Areas | null {
  if (resident_bytes.every((bytes) => bytes === null)) return null;
  const rows = [...resident_bytes.keys()].filter((row) => (resident_bytes[row] ?? 0) > 0);
  return { rows, bytesOf: (row) => resident_bytes[row] ?? 0, isFound: true };
}

/** What each region that was alive at a moment mapped, of a class no more than can have been in memory. */
function boundAreas(
  run: RunData,
  moment: number,
  { birth_ms, death_ms, size_bytes, class: types }: RegionColumns,
): Areas {
  const alive = [...size_bytes.keys()].filter((i) => (birth_ms[i] ?? 0) <= moment && moment <= (death_ms[i] ?? 0));
  const mapped = run.classes.map((_, index) =>
    alive.reduce((sum, i) => sum + (types[i] === index ? (size_bytes[i] ?? 0) : 0), 0),
  );
  // A reservation maps far more than is in memory: a class is as large as what of it was resident.
  const scales = mapped.map((bytes, index) => Math.min(1, (run.class_bytes[index] ?? bytes) / Math.max(1, bytes)));
  return { rows: alive, bytesOf: (row) => (size_bytes[row] ?? 0) * (scales[types[row] ?? 0] ?? 1), isFound: false };
}

/** The areas by class and layer; what is too small to be seen stands together. */
function partsOf(run: RunData, { name, layer, size_bytes, class: types }: RegionColumns, areas: Areas): Part {
  const classes = new Map<string, Map<string, Part[]>>();
  const { isFound } = areas;
  const total = areas.rows.reduce((sum, row) => sum + areas.bytesOf(row), 0);
  for (const i of areas.rows) {
    const type = run.classes[types[i] ?? 0] ?? "unknown";
    const number = layer[i] ?? null;
    const layers = classes.get(type) ?? new Map<string, Part[]>();
    classes.set(type, layers);
    const key = number === null ? "" : `layer ${number}`;
    const parts = layers.get(key) ?? [];
    layers.set(key, parts);
    const map = size_bytes[i] ?? 0;
    const bytes = areas.bytesOf(i);
    const rest = parts.findIndex((part) => part.name === REST);
    const { bytes: area = 0, mapped: before = 0 } = parts[rest] ?? {};
    if (bytes >= total * LEAST_SHARE) parts.push({ name: name[i] ?? "", bytes, mapped: map, isFound });
    else if (rest < 0) parts.push({ name: REST, bytes, mapped: map, isFound });
    else parts[rest] = { name: REST, bytes: area + bytes, mapped: before + map, isFound };
  }
  return {
    name: "",
    parts: [...classes].map(([type, layers]) => ({
      name: type,
      parts: [...layers].map(([key, parts]) => ({ name: key, parts })),
    })),
  };
}

/** `≤ ` before a size that is no more than an upper end. */
function signOf(run: RunData, name: string, { isFound }: Areas): string {
  return isFound || run.class_bytes_read[run.classes.indexOf(name)] === true ? "" : "≤ ";
}

function drawnNode(node: HierarchyRectangularNode<Part>): SVGGElement {
  const svg = "http://www.w3.org/2000/svg";
  const [, type, layer] = node
    .ancestors()
    .reverse()
    .map(({ data }) => data.name);
  const group = document.createElementNS(svg, "g");
  const [width, height] = [node.x1 - node.x0, node.y1 - node.y0];
  const rect = document.createElementNS(svg, "rect");
  for (const [key, value] of Object.entries({ x: node.x0, y: node.y0, width, height }))
    rect.setAttribute(key, value.toFixed(1));
  rect.setAttribute("fill", colorOf(type ?? ""));
  const title = document.createElementNS(svg, "title");
  const { bytes = 0, mapped = 0, isFound = false } = node.data;
  const size = `${isFound ? `${formatBytes(bytes)} in memory of ` : ""}${formatBytes(mapped)} mapped`;
  title.textContent = `${[type, layer, node.data.name].filter(Boolean).join(", ")}: ${size}`;
  group.append(rect, title);
  if (width > READABLE[0] && height > READABLE[1]) {
    const text = document.createElementNS(svg, "text");
    text.setAttribute("x", (node.x0 + 4).toFixed(1));
    text.setAttribute("y", (node.y0 + 13).toFixed(1));
    const room = Math.floor((width - 8) / 6.2);
    // Of a path its end says most.
    const name = node.data.name.slice(node.data.name.lastIndexOf("/") + 1);
    text.textContent = name.length > room ? `${name.slice(0, Math.max(1, room - 1))}…` : name;
    group.append(text);
  }
  return group;
}

/** Puts the treemap of a run into its place. */
export function drawTreemap(place: HTMLElement, run: RunData): void {
  if ("why" in run.regions) {
    place.replaceChildren(whyNot(run.regions.why));
    return;
  }
  const columns = run.regions.data;
  const moment = fullestMoment(run);
  const areas = foundAreas(columns) ?? boundAreas(run, moment, columns);
  const root = hierarchy<Part>(partsOf(run, columns, areas), ({ parts }) => parts)
    .sum(({ bytes }) => bytes ?? 0)
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const classes = root.children ?? [];
  const key = classes.map(({ data, value }) =>
    element(
      "span",
      { class: `class ${data.name}` },
      `${data.name} ${signOf(run, data.name, areas)}${formatBytes(value ?? 0)}`,
    ),
  );
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("class", "treemap");
  svg.setAttribute(
    "aria-label",
    `Bytes in memory by class: ${classes.map(({ data, value }) => `${data.name} ${formatBytes(value ?? 0)}`).join(", ")}`,
  );
  const draw = (): void => {
    const width = Math.max(200, place.clientWidth);
    const laid = treemap<Part>().tile(treemapSquarify).size([width, HEIGHT]).paddingInner(1).paddingOuter(1)(root);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    svg.replaceChildren(...laid.leaves().map(drawnNode));
  };
  draw();
  place.replaceChildren(
    element(
      "p",
      { class: "about" },
      areas.isFound
        ? "What the look at the page tables of the process that found most in memory found of each region: what its resident set counts."
        : `Nobody looked at which pages were in memory: what can have been there ${formatNs(moment * 1e6)} into the run, when the process had most memory. A class is as large as its resident bytes (≤ where only an upper end is known); in it each tensor by the bytes that it maps.`,
    ),
    element("div", { class: "tools" }, ...key),
    svg,
  );
  whenResized(place, draw);
}
