/** Elements of the page by their tag, with their attributes and what they hold: text is text, never markup. */
import { COLOURED } from "./coloured-classes.ts";

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** An element with attributes and children; `false` leaves an attribute out, `true` sets it without a value. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

/** An element that says why something is not there. */
export function whyNot(why: string): HTMLElement {
  return element("p", { class: "why-not" }, `Not drawn: ${why}.`);
}

/** The colour of a class, as the style sheet has it. */
export function colorOf(name: string): string {
  return COLOURED.has(name) ? `var(--${name})` : "var(--other)";
}

/** The same colour as numbers, for a canvas. */
export function computedColor(name: string): string {
  const property = colorOf(name).slice("var(".length, -1);
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

/** Draws into a place; what fails says so there, and all else is drawn all the same. */
export function tryTo(place: HTMLElement, draw: () => void): void {
  try {
    draw();
  } catch (error) {
    place.replaceChildren(whyNot(String(error)));
    place.dataset.failed = "true";
  }
}
