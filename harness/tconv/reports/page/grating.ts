import type { Scale } from "./geometry.js";
import { box, type Pair, type Shape, shownNumbers, writing } from "./shapes.js";

// The rows and columns of places of a panel, to scale.

/** Units around the grid. */
export const PLANE_MARGIN = 0.5;

/** The rows and columns of a panel in pixels. */
export class Grating {
  readonly unit: number;
  readonly margin: number;

  constructor(
    readonly rows: Scale,
    readonly columns: Scale,
  ) {
    this.unit = rows.unit;
    this.margin = PLANE_MARGIN * this.unit;
  }

  corner(row: number, column: number): Pair {
    return [this.columns.x(column) + this.margin, this.rows.x(row) + this.margin];
  }

  get size(): Pair {
    return [this.columns.width + 2 * this.margin, this.rows.width + 2 * this.margin];
  }

  /** Every place that is shown. */
  get places(): [number, number][] {
    const columns = shownNumbers(this.columns);
    return shownNumbers(this.rows).flatMap((row) => columns.map((column): [number, number] => [row, column]));
  }

  /** A square in the middle of a place, as a part of a path. */
  square([row, column]: [number, number], inset: number) {
    const [x, y] = this.corner(row, column);
    const side = this.unit - 2 * inset;
    return `M${x + inset} ${y + inset}h${side}v${side}h${-side}z`;
  }

  shows([row, column]: [number, number]) {
    return this.rows.shows(row) && this.columns.shows(column);
  }

  /** What stands where rows and columns are left out. */
  get cuts(): Shape[] {
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
