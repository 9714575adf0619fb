import { el, enlargement } from "./elements.js";
import { marksIn, type Tiled, type Tiling } from "./fields.js";
import type { Shade } from "./shades.js";
import { formatCount } from "./text.js";
import { drawTile } from "./tile_canvas.js";
import type { TileOptions } from "./tiles.js";

// The tiles of a channel, and how large their cells are.

const LARGEST_TILE_CELL = 34;
const LEAST_TILE_CELL = 4;
/** The height of a large tile, where it need not be more. */
const TALLEST = 360;
/** In less room the tiles stand two by two. */
const PHONE = 560;
/** The width of a small tile, about. */
const SMALL = 96;
/** Pixels between tiles. */
const BETWEEN = 14;

/** Whether tiles are so flat that they stand one under the other. */
export const isStrip = ({ rows, columns }: Tiling) => rows * 2 < columns;

/** The side of a cell of the channel that is drawn large, whose `fields` tiles have `room` pixels. */
export function largeCell(tiling: Tiling, fields: number, room: number) {
  const across = Math.min(fields, isStrip(tiling) ? 1 : room < PHONE ? 2 : 4);
  const fits = Math.floor((room - BETWEEN * across) / across / Math.max(tiling.columns, 1));
  const tall = Math.floor((TALLEST * enlargement()) / Math.max(tiling.rows, 1));
  const most = Math.floor(LARGEST_TILE_CELL * enlargement());
  return Math.max(LEAST_TILE_CELL, Math.min(most, fits, Math.max(tall, LEAST_TILE_CELL)));
}

/** The side of a cell of the other channels. */
export function smallCell({ columns }: Tiling, large: number) {
  return Math.min(large, Math.max(Math.floor((SMALL * enlargement()) / Math.max(columns, 1)), LEAST_TILE_CELL));
}

/** The fields of a channel beside each other; the channel has the number `tile` and begins at the element `start`. */
export function channelTiles(
  { fields, shown, titles, names, judged }: TileOptions,
  tiling: Tiling,
  channel: { tile: number; start: number; cell: number; stacked: boolean; shades: Record<Tiled, Shade> },
) {
  const { tile, start, cell, stacked, shades } = channel;
  const canvases = shown.map((name) => {
    const canvas = el("canvas", { "aria-hidden": "true" });
    drawTile(canvas, { fields, name, start, tiling, cell, shade: shades[name] });
    return canvas;
  });
  const figures = shown.map((name, number) =>
    el("figure", { class: `tile ${name}` }, el("figcaption", {}, titles[name] ?? name), canvases[number]),
  );
  const row = el("div", { class: `row-of-tiles${stacked ? " stacked" : ""}` }, ...figures);
  if (tiling.tiled === null) {
    const rows = tiling.rows > 1 && judged ? [el("h4", { class: "muted" }, "each row is a channel")] : [];
    return { element: el("div", { class: "multiple" }, ...rows, row), canvases };
  }
  const count = marksIn(fields.wrong, start, tiling);
  const verdict = count > 0 ? `, ${formatCount(count)} wrong` : ", as expected";
  const words = `${names[tiling.tiled]} ${tile}${judged ? verdict : ""}`;
  const head = el("h4", { class: count > 0 ? "wrong" : "muted" }, words);
  return { element: el("div", { class: "multiple" }, head, row), canvases };
}
