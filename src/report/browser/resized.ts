/** Drawing again where a place changes its size. */

/**
 * Draws anew in the frame after each change: what is drawn may change the height of the page, and with it the width of the
 * place, which the browser would call a loop.
 */
export function whenResized(place: Element, draw: () => void): void {
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(place);
}
