import { box, shownNumbers, writing } from "./shapes.js";

/*
 * The rows and columns of places of a panel, to scale.
 */

/** @import { Scale } from "./geometry.js" */
/** @import { Pair, Shape } from "./shapes.js" */

/** Units around the grid. */
export const PLANE_MARGIN = 0.5;

/** The rows and columns of a panel in pixels. */
export class Grating {
  /** @param {Scale} rows @param {Scale} columns */
  constructor(rows, columns) {
    this.rows = rows;
    this.columns = columns;
    this.unit = rows.unit;
    this.margin = PLANE_MARGIN * this.unit;
  }

  /** @param {number} row @param {number} column @returns {Pair} */
  corner(row, column) {
    return [this.columns.x(column) + this.margin, this.rows.x(row) + this.margin];
  }

  /** @returns {Pair} */
  get size() {
    return [this.columns.width + 2 * this.margin, this.rows.width + 2 * this.margin];
  }

  /** @returns {[number, number][]} every place that is shown */
  get places() {
    const columns = shownNumbers(this.columns);
    return shownNumbers(this.rows).flatMap((row) =>
      columns.map((column) => /** @type {[number, number]} */ ([row, column])),
    );
  }

  /**
   * A square in the middle of a place, as a part of a path.
   *
   * @param {[number, number]} place
   * @param {number} inset
   */
  square([row, column], inset) {
    const [x, y] = this.corner(row, column);
    const side = this.unit - 2 * inset;
    return `M${x + inset} ${y + inset}h${side}v${side}h${-side}z`;
  }

  /** @param {[number, number]} place */
  shows([row, column]) {
    return this.rows.shows(row) && this.columns.shows(column);
  }

  /**
   * What stands where rows and columns are left out.
   *
   * @returns {Shape[]}
   */
  get cuts() {
    const [width, height] = this.size;
    const { unit, margin } = this;
    return [
      ...this.columns.gaps.flatMap((x) => [
        box("cut-ground", [x + margin, 0], [unit, height]),
        writing("cut-mark", [x + margin + unit / 2, height / 2], "…"),
      ]),
      ...this.rows.gaps.flatMap((y) => [
        box("cut-ground", [0, y + margin], [width, unit]),
        writing("cut-mark", [width / 2, y + margin + unit / 2], "⋮"),
      ]),
    ];
  }
}
