import { parseFragment } from "./address.js";
import { planeStart } from "./arrays.js";
import { isDark } from "./canvas.js";
import { caseView } from "./case_data.js";
import { type Fields, firstToShow, tilingOf } from "./fields.js";
import { outputFields } from "./given_output.js";
import { openCase } from "./opened_case.js";
import type { PageData } from "./page_data.js";
import { shadesOf } from "./shades.js";
import { drawTile } from "./tile_canvas.js";

// The error of each cause's example as a small picture, made when the cause comes into view.

/** The side of a picture in pixels. */
const SIDE = 64;

/** Make the pictures of causes as they come into view; what it returns draws them again, in other colours. */
export function followThumbnails(data: PageData): () => void {
  const made = new Map<HTMLCanvasElement, Fields>();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      make(target);
    }
  });

  async function make(cause: Element) {
    const canvas = cause.querySelector("canvas");
    const record = exampleOf(cause, data);
    if (!(canvas && record)) return;
    const fields = outputFields(caseView(await openCase(data, record), data));
    if (!fields) return;
    made.set(canvas, fields);
    drawThumbnail(canvas, fields);
    canvas.hidden = false;
  }

  for (const cause of document.querySelectorAll(".cause")) {
    const record = exampleOf(cause, data);
    if (record && document.getElementById(`arrays-${record.number}`)) observer.observe(cause);
  }
  return () => {
    for (const [canvas, fields] of made) drawThumbnail(canvas, fields);
  };
}

/** The record that a cause's line has as its example. */
function exampleOf(cause: Element, data: PageData) {
  const link = cause.querySelector(".example a");
  const state = parseFragment(link?.getAttribute("href") ?? "");
  return state.case ? data.find(state.case, state.run ?? "") : null;
}

/** The plane with the first wrong element. */
function drawThumbnail(canvas: HTMLCanvasElement, fields: Fields) {
  const tiling = tilingOf(fields.shape);
  const cell = Math.max(Math.floor(SIDE / Math.max(tiling.rows, tiling.columns)), 1);
  const shade = shadesOf(fields, isDark()).error;
  drawTile(canvas, { fields, name: "error", start: planeStart(tiling, firstToShow(fields)), tiling, cell, shade });
}
