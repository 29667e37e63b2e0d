/** What a figure rests on, beside the figure that is pointed at or focused; Escape puts it away. */

const GAP = 6;

/** Wires all figures of the page to the one element that explains. */
export function showExplanations(): void {
  const box = document.getElementById("explanation");
  if (box === null) return;

  function show(figure: Element): void {
    const text = document.getElementById(figure.getAttribute("aria-describedby") ?? "")?.textContent;
    if (box === null || text === null || text === undefined) return;
    box.textContent = text;
    box.showPopover();
    const place = figure.getBoundingClientRect();
    const room = document.documentElement.clientWidth - box.offsetWidth - GAP;
    const below = place.bottom + GAP;
    const isBelow = below + box.offsetHeight < document.documentElement.clientHeight;
    box.style.left = `${Math.max(GAP, Math.min(place.left, room))}px`;
    box.style.top = `${isBelow ? below : Math.max(GAP, place.top - box.offsetHeight - GAP)}px`;
  }
  const hide = (): void => box.hidePopover();
  const figureOf = (event: Event): Element | null =>
    event.target instanceof Element ? event.target.closest("button.figure") : null;

  document.addEventListener("pointerover", (event) => {
    const figure = figureOf(event);
    if (figure !== null) show(figure);
    else if (!(event.target instanceof Node && box.contains(event.target))) hide();
  });
  document.addEventListener("focusin", (event) => {
    const figure = figureOf(event);
    if (figure !== null) show(figure);
    else hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("scroll", hide, { passive: true, capture: true });
}
