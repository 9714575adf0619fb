import { el, enlargement } from "./elements.js";
import type { DrawnOutput } from "./geometry_view.js";
import type { Drawing, Shape } from "./shapes.js";

// Drawings as SVG elements, and the legend of the geometry's.

const SVG = "http://www.w3.org/2000/svg";
let drawings = 0;

/** A drawing as an element that has a title and a description. */
export function svgOf({ width, height, shapes }: Drawing, title: string, description: string) {
  drawings += 1;
  const [titleId, descriptionId] = [`drawing-${drawings}-title`, `drawing-${drawings}-about`];
  const labels = description ? `${titleId} ${descriptionId}` : titleId;
  const larger = enlargement();
  const svg = made("svg", {
    width: width * larger,
    height: height * larger,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-labelledby": labels,
  });
  svg.append(made("title", { id: titleId }, title));
  if (description) svg.append(made("desc", { id: descriptionId }, description));
  svg.append(...shapes.map(elementOf));
  return svg;
}

function elementOf(shape: Shape) {
  const style = shape.style
    .split(" ")
    .map((word) => `d-${word}`)
    .join(" ");
  switch (shape.kind) {
    case "rect": {
      const { x, y, width, height } = shape;
      return made("rect", { class: style, x, y, width, height });
    }
    case "path":
      return made("path", { class: style, d: shape.d });
    case "text":
      return made("text", { class: style, x: shape.x, y: shape.y, "text-anchor": shape.anchor }, shape.text);
  }
}

function made(tag: string, attributes: Record<string, string | number>, text?: string) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** The legend of what a drawing has. */
export function legendOf(drawing: HTMLElement, expected: string, others: DrawnOutput[]) {
  const entries: [string, string][] = [
    ["data", "input element"],
    ["tap", "tap"],
    ["reached none", "no product reaches it"],
    ["reached single", "one product reaches it"],
    ["reached several", "several products reach it"],
    ["cropped", "cropped"],
    ["beyond", "beyond all taps"],
    ["element added", "added by output_padding"],
    ["frame expected", expected],
  ];
  for (const { name } of others) entries.push(["frame given", name]);
  const drawn = entries.filter(([style]) => drawing.querySelector(`.d-${style.split(" ").join(".d-")}`));
  return drawn.map(([style, words]) => {
    const shapes: Shape[] = [{ kind: "rect", style, x: 1.5, y: 1.5, width: 13, height: 13 }];
    const svg = svgOf({ width: 16, height: 16, shapes }, words, "");
    svg.setAttribute("aria-hidden", "true");
    return el("span", {}, svg, words);
  });
}
