/** The regions of a run as a table that sorts by any column and filters by class, layer and name. */

import { isGuess } from "../../schema/words.ts";
import { formatBytes, formatCount, formatNs } from "../../units.ts";
import type { RegionColumns, RunData } from "../page/data/page-data.ts";
import { element, whyNot } from "./elements.ts";

/** Rows on the page at a time. */
const PAGE_ROWS = 25;

interface Column {
  readonly name: string;
  readonly text: (row: number) => string;
  /** What it sorts by; numbers most first when first asked for. */
  readonly key: (row: number) => string | number;
}

function columnsOf(run: RunData, regions: RegionColumns): readonly Column[] {
  const lived = (row: number): number => (regions.death_ms[row] ?? 0) - (regions.birth_ms[row] ?? 0);
  const number = (name: string, values: readonly (number | null)[], format: (value: number) => string): Column => ({
    name,
    text: (row) => {
      const value = values[row] ?? null;
      return value === null ? "-" : format(value);
    },
    key: (row) => values[row] ?? -1,
  });
  const text = (name: string, cell: (row: number) => string): Column => ({ name, text: cell, key: cell });
  return [
    text("class", (row) => run.classes[regions.class[row] ?? 0] ?? ""),
    number("layer", regions.layer, String),
    text("name", (row) => regions.name[row] ?? ""),
    number("size", regions.size_bytes, formatBytes),
    number("accesses seen", regions.access_rows, formatCount),
    number("born", regions.birth_ms, (ms) => formatNs(Math.max(0, ms) * 1e6)),
    { name: "lived", text: (row) => formatNs(lived(row) * 1e6), key: lived },
    text("address", (row) => `0x${regions.addr[row]}`),
    text("known by", (row) => {
      const evidence = regions.evidence[row] ?? "";
      return isGuess(evidence) ? `${evidence} (a guess)` : evidence;
    }),
  ];
}

function compared(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

interface Filter {
  readonly name: string;
  readonly class: string;
  readonly layer: string;
}

/** Numbers of the rows that pass the filter. */
export function matching(run: RunData, regions: RegionColumns, filter: Filter): number[] {
  const name = filter.name.toLowerCase();
  return regions.name.flatMap((text, row) => {
    const fits =
      text.toLowerCase().includes(name) &&
      (filter.class === "" || run.classes[regions.class[row] ?? 0] === filter.class) &&
      (filter.layer === "" || String(regions.layer[row] ?? "") === filter.layer);
    return fits ? [row] : [];
  });
}

function field(text: string, control: HTMLElement): HTMLLabelElement {
  return element("label", {}, `${text} `, control);
}

function optionsOf(values: readonly string[]): HTMLOptionElement[] {
  return ["", ...values].map((value) => element("option", { value }, value === "" ? "all" : value));
}

/** Puts the table of a run into its place. */
export function drawRegionTable(place: HTMLElement, run: RunData): void {
  if ("why" in run.regions) {
    place.replaceChildren(whyNot(run.regions.why));
    return;
  }
  const regions = run.regions.data;
  const columns = columnsOf(run, regions);
  const layers = [...new Set(regions.layer.filter((layer) => layer !== null))].sort((a, b) => a - b);
  const byName = element("input", { type: "search", placeholder: "part of a name" });
  const byClass = element("select", {}, ...optionsOf(run.classes));
  const byLayer = element("select", {}, ...optionsOf(layers.map(String)));
  const body = element("tbody");
  const summary = element("p", { class: "about", role: "status" });
  let sortedBy = 4;
  let descending = true;
  let page = 0;

  const heads = columns.map(({ name }, i) => {
    const button = element("button", { type: "button" }, name);
    button.addEventListener("click", () => {
      descending = sortedBy === i ? !descending : typeof columns[i]?.key(0) === "number";
      sortedBy = i;
      page = 0;
      fill();
    });
    return element("th", { scope: "col" }, button);
  });
  const [earlier, later] = ["previous", "next"].map((text, i) => {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", () => {
      page += i === 0 ? -1 : 1;
      fill();
    });
    return button;
  });

  function fill(): void {
    const rows = matching(run, regions, { name: byName.value, class: byClass.value, layer: byLayer.value });
    const key = columns[sortedBy]?.key ?? (() => 0);
    rows.sort((a, b) => (descending ? -1 : 1) * compared(key(a), key(b)) || a - b);
    const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
    page = Math.min(Math.max(0, page), pages - 1);
    heads.forEach((head, i) => {
      if (i === sortedBy) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(
      ...rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS).map((row) => {
        const cells = columns.map(({ name, text }) =>
          element("td", { class: name === "name" ? "name" : "" }, text(row)),
        );
        return element("tr", {}, ...cells);
      }),
    );
    const hidden =
      run.regions_left_out === 0
        ? ""
        : `; the page leaves out ${formatCount(run.regions_left_out)} small ones on which no access was seen`;
    summary.textContent = `${formatCount(rows.length)} of ${formatCount(regions.name.length)} regions, page ${page + 1} of ${pages}${hidden}`;
    if (earlier !== undefined) earlier.disabled = page === 0;
    if (later !== undefined) later.disabled = page === pages - 1;
  }
  for (const control of [byName, byClass, byLayer]) {
    control.addEventListener("input", () => {
      page = 0;
      fill();
    });
  }
  fill();
  const table = element("table", { class: "regions" }, element("thead", {}, element("tr", {}, ...heads)), body);
  place.replaceChildren(
    element("div", { class: "tools" }, field("name", byName), field("class", byClass), field("layer", byLayer)),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "the regions of the run" }, table),
    element("div", { class: "tools" }, ...[earlier, later].filter((button) => button !== undefined), summary),
  );
}
