/** Which part of the map of addresses is seen: a span of time and a span of rows, zoomed and moved within the whole. */

/** Half-open spans, in ms of the run and in rows of the map. */
export interface View {
  readonly begin: number;
  readonly end: number;
  readonly top: number;
  readonly bottom: number;
}

/** The smallest part that can be seen: 1/4096 of the whole either way. */
const MOST_ZOOM = 4096;

/** A span of the given length that lies within [0, whole], as near to where it was as it can. */
function within(begin: number, length: number, whole: number): readonly [number, number] {
  const size = Math.min(whole, Math.max(whole / MOST_ZOOM, length));
  const first = Math.min(Math.max(0, begin), whole - size);
  return [first, first + size];
}

function viewOf(begin: number, width: number, top: number, height: number, whole: View): View {
  const [left, right] = within(begin, width, whole.end);
  const [upper, lower] = within(top, height, whole.bottom);
  return { begin: left, end: right, top: upper, bottom: lower };
}

/** Zooms around a point that keeps its place; a factor above 1 sees less. @param x, y of the point, 0 to 1 across the view */
export function zoomed(view: View, whole: View, factor: number, x = 0.5, y = 0.5): View {
  const [width, height] = [(view.end - view.begin) / factor, (view.bottom - view.top) / factor];
  const begin = view.begin + (view.end - view.begin - width) * x;
  const top = view.top + (view.bottom - view.top - height) * y;
  return viewOf(begin, width, top, height, whole);
}

/** Moves by parts of the view: 0.1 to the right is a tenth of what is seen. */
export function moved(view: View, whole: View, right: number, down: number): View {
  const [width, height] = [view.end - view.begin, view.bottom - view.top];
  return viewOf(view.begin + right * width, width, view.top + down * height, height, whole);
}
