/** What a figure rests on, beside the figure that is pointed at or focused; Escape puts it away. */

const GAP = 6;

/** Puts the box below the figure, above it where there is no room below. */
function placeBeside(box: HTMLElement, figure: Element): void {
  const place = figure.getBoundingClientRect();
  const room = document.documentElement.clientWidth - box.offsetWidth - GAP;
  const below = place.bottom + GAP;
  const isBelow = below + box.offsetHeight < document.documentElement.clientHeight;
  box.style.left = `${Math.max(GAP, Math.min(place.left, room))}px`;
  box.style.top = `${isBelow ? below : Math.max(GAP, place.top - box.offsetHeight - GAP)}px`;
}

/** Wires all figures of the page to the one element that explains. */
export function showExplanations(): void {
  const found = document.getElementById("explanation");
  if (found === null) return;
  const box = found;
  let explained: Element | null = null;
  /** Put away by Escape: it stays away until another is pointed at or focused. */
  let dismissed: Element | null = null;

  function show(figure: Element): void {
    const text = document.getElementById(figure.getAttribute("aria-describedby") ?? "")?.textContent;
    if (text === null || text === undefined) return;
    explained = figure;
    dismissed = null;
    box.textContent = text;
    box.showPopover();
    placeBeside(box, figure);
  }
  function hide(): void {
    explained = null;
    box.hidePopover();
  }
  const figureOf = (event: Event): Element | null =>
    event.target instanceof Element ? event.target.closest("button.figure") : null;

  document.addEventListener("pointerover", (event) => {
    const figure = figureOf(event);
    if (figure !== null) return show(figure);
    if (event.target instanceof Node && box.contains(event.target)) return;
    // A page that scrolls under a pointer at rest moves it over other things: what has the focus keeps its explanation.
    const focused = document.activeElement?.closest("button.figure") ?? null;
    if (focused === null || focused === dismissed) hide();
    else show(focused);
  });
  document.addEventListener("focusin", (event) => {
    const figure = figureOf(event);
    if (figure !== null) show(figure);
    else hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    dismissed = explained;
    hide();
  });
  // A figure that is focused may be scrolled to: the explanation goes with it.
  document.addEventListener(
    "scroll",
    () => {
      if (explained !== null) placeBeside(box, explained);
    },
    { passive: true, capture: true },
  );
}
