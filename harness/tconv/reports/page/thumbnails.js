import { parseFragment } from "./address.js";
import { planeStart } from "./arrays.js";
import { isDark } from "./canvas.js";
import { caseView } from "./case_data.js";
import { firstToShow, tilingOf } from "./fields.js";
import { outputFields } from "./given_output.js";
import { openCase } from "./opened_case.js";
import { shadesOf } from "./shades.js";
import { drawTile } from "./tile_canvas.js";

/*
 * The error of each cause's example as a small picture, made when the cause comes into view.
 */

/** @import { Fields } from "./fields.js" */
/** @import { PageData } from "./page_data.js" */

/** The side of a picture in pixels. */
const SIDE = 64;

/**
 * Make the pictures of causes as they come into view.
 *
 * @param {PageData} data
 * @returns {() => void} draws those that are there again, in other colours
 */
export function followThumbnails(data) {
  /** @type {Map<HTMLCanvasElement, Fields>} */
  const made = new Map();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      make(target);
    }
  });

  /** @param {Element} cause */
  async function make(cause) {
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

/**
 * The record that a cause's line has as its example.
 *
 * @param {Element} cause
 * @param {PageData} data
 */
function exampleOf(cause, data) {
  const link = cause.querySelector(".example a");
  const state = parseFragment(link?.getAttribute("href") ?? "");
  return state.case ? data.find(state.case, state.run ?? "") : null;
}

/**
 * The plane with the first wrong element.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Fields} fields
 */
function drawThumbnail(canvas, fields) {
  const tiling = tilingOf(fields.shape);
  const cell = Math.max(Math.floor(SIDE / Math.max(tiling.rows, tiling.columns)), 1);
  const shade = shadesOf(fields, isDark()).error;
  drawTile(canvas, { fields, name: "error", start: planeStart(tiling, firstToShow(fields)), tiling, cell, shade });
}
