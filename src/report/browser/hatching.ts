/** The fill of what is no value but a bound: lines in the colour of its class. */
import { colorOf } from "./elements.ts";

const SVG = "http://www.w3.org/2000/svg";
const GAP_PX = "6";

/** The fill of a class; what it refers to is put into the page when it is first asked for. */
export function hatching(name: string): string {
  const color = colorOf(name);
  const id = `hatching-${color.replace(/\W/g, "")}`;
  if (document.getElementById(id) === null) {
    const pattern = document.createElementNS(SVG, "pattern");
    const box = { id, width: GAP_PX, height: GAP_PX, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
    for (const [key, value] of Object.entries(box)) pattern.setAttribute(key, value);
    const line = document.createElementNS(SVG, "line");
    for (const [key, value] of Object.entries({ y2: GAP_PX, stroke: color, "stroke-width": "2" })) {
      line.setAttribute(key, value);
    }
    pattern.append(line);
    const holder = document.createElementNS(SVG, "svg");
    holder.setAttribute("class", "patterns");
    holder.setAttribute("aria-hidden", "true");
    holder.append(pattern);
    document.body.append(holder);
  }
  return `url(#${id})`;
}
