/** The place of a run's requests, which the page's own script draws into. */
import { type Html, html } from "./html.ts";

export function requestsPlace(run: number): Html {
  return html`<figure class="requests"><figcaption><strong>Requests</strong> Each from its sending to its last token, on the time of the run and the tokens of its engine: thin while it waited for its first batch, where that is known, then until its first token, then dark while tokens came.</figcaption><div data-requests="${run}"><p class="why-not">Drawn by a script, which did not run here.</p></div></figure>`;
}
