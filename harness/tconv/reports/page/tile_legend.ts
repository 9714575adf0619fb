import { indexOf } from "./arrays.js";
import { drawMark, hatching, SWATCH, scaleOf, swatchOf } from "./canvas.js";
import { css } from "./colours.js";
import { el } from "./elements.js";
import type { Tiled } from "./fields.js";
import type { Shade } from "./shades.js";
import { formatFloat32, formatRounded, formatShape } from "./text.js";
import { drawAbsent, MARKED, SPECIAL } from "./tile_canvas.js";
import type { TileOptions } from "./tiles.js";

// What the colours and the marks of tiles mean, and what is said of an element.

/** The entries of the legend of tiles with cells of `cell` pixels. */
export function tileLegend({ fields, shown, titles, judged }: TileOptions, shades: Record<Tiled, Shade>, cell: number) {
  const entries: Node[] = [];
  const told = new Set<Shade>();
  for (const name of shown) {
    const shade = shades[name];
    if (told.has(shade) || shade.ends[1] === "0") continue;
    told.add(shade);
    const words = name === "expected" || name === "actual" ? "values" : (titles[name] ?? name);
    entries.push(scaleOf(words, shade.colours, shade.ends[0], shade.ends[1]));
  }
  const drawn = shown.map((name) => fields.fields[name]);
  for (const [value, words] of SPECIAL) {
    if (drawn.some(({ values, present }) => values.some((other, at) => present[at] === 1 && Object.is(other, value))))
      entries.push(hatched(words, value));
  }
  const { limit } = shades.actual;
  const isFar = (name: Tiled) => fields.fields[name].values.some((value) => Math.abs(value) > shades[name].limit);
  if (shown.some(isFar)) entries.push(hatched(`beyond ±${formatRounded(limit)}`, Number.POSITIVE_INFINITY));
  if (drawn.some(({ present }) => present.includes(0))) {
    entries.push(swatch("no element there", (context) => drawAbsent(context, [0, 0], SWATCH)));
  }
  const came = fields.fields.error.present;
  if (judged && cell >= MARKED && fields.wrong.some((mark, at) => mark === 1 && came[at] === 1)) {
    entries.push(
      swatch("outlined: wrong", (context) => {
        const colour = shades.error.of(0);
        context.fillStyle = css(colour);
        context.fillRect(0, 0, SWATCH, SWATCH);
        drawMark(context, [0, 0], [SWATCH, SWATCH], colour);
      }),
    );
  }
  return entries;
}

const swatch = (words: string, draw: (context: CanvasRenderingContext2D) => void) =>
  el("span", {}, swatchOf(draw), words);

const hatched = (words: string, value: number) =>
  swatch(words, (context) => {
    context.fillStyle = hatching(context, value);
    context.fillRect(0, 0, SWATCH, SWATCH);
  });

/** What is said of an element: names and values. */
export function elementFacts({ fields, shown, titles, judged }: TileOptions, element: number) {
  const { origin, shape, shift, wrong, exact } = fields;
  const index = indexOf(shape, element).map((at, axis) => at + origin[axis]);
  const moved = shift.some((by) => by !== 0);
  const facts = [["index", formatShape(index)]];
  if (moved) facts.push(["actual's own", formatShape(index.map((at, axis) => at - shift[axis]))]);
  for (const name of shown) {
    const { values, present } = fields.fields[name];
    const words = present[element] ? formatFloat32(Math.fround(values[element])) : "none";
    facts.push([(titles[name] ?? name).split(",")[0], words]);
  }
  if (judged && !exact) facts.push(["error/allowed", formatFloat32(Math.fround(fields.fields.ratio.values[element]))]);
  if (judged) facts.push(["so it is", wrong[element] ? "✗ wrong" : "✓ as expected"]);
  return facts;
}
