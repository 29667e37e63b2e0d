/** The page's own script: draws what the page cannot hold as text, each part where its place is. */
import type { PageData } from "../page/data/page-data.ts";
import { tryTo } from "./elements.ts";
import { showExplanations } from "./explanation.ts";
import { drawHeatMap } from "./heat-map.ts";
import { drawPlots } from "./plots.ts";
import { drawRegionTable } from "./region-table.ts";
import { drawRequests } from "./requests.ts";
import { drawTreemap } from "./treemap.ts";

const page = JSON.parse(document.getElementById("data")?.textContent ?? "{}") as PageData;

function eachPlace(kind: string, draw: (place: HTMLElement, run: PageData["runs"][number]) => void): void {
  for (const place of document.querySelectorAll<HTMLElement>(`[data-${kind}]`)) {
    const run = page.runs[Number(place.dataset[kind])];
    if (run !== undefined) tryTo(place, () => draw(place, run));
  }
}

showExplanations();
// The answer is text and is there already: it is painted before anything is drawn.
requestAnimationFrame(() =>
  setTimeout(() => {
    eachPlace("heat", drawHeatMap);
    eachPlace("requests", drawRequests);
    drawPlots(page);
    eachPlace("treemap", drawTreemap);
    eachPlace("regions", drawRegionTable);
    performance.mark("drawn");
    document.documentElement.dataset.drawn = "true";
  }),
);
