/** The places of the plots: title and meaning of each, which the page's own script draws into. */
import { PLOTS } from "../browser/plot-list.ts";
import { type Html, html } from "./html.ts";

/** A figure for each plot of one run. */
export function plotPlaces(run: number): Html {
  const places = PLOTS.map(
    ({ key, title, about }) =>
      html`<figure class="plot" data-plot="${key}" data-run="${run}"><figcaption><strong>${title}</strong> ${about}</figcaption><div class="drawing"><p class="why-not">Drawn by a script, which did not run here.</p></div></figure>`,
  );
  return html`<div class="plots">${places}</div>`;
}
