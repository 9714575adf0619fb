import type { CaseView } from "./case_data.js";
import { placedGeometry, sameSpacing, shiftOf } from "./geometry.js";
import type { DrawnOutput } from "./geometry_view.js";

// The output that came beside the one that is expected: where it lies, and both on one grid.

/** The output that came, for the drawing; null where there is none, or it is where it is expected. */
export function givenOutput({ geometry, placement, backend }: CaseView): DrawnOutput | null {
  if (!(geometry && placement) || placement.output.length !== geometry.output.length) return null;
  const found = placedGeometry(geometry, placement);
  if (found) return { name: backend, role: "given", geometry: found, known: true };
  if (String(placement.output) === String(geometry.output)) return null;
  return {
    name: backend,
    role: "given",
    geometry: { ...geometry, output: placement.output, added: undefined },
    known: false,
  };
}

export function shapesDiffer({ values }: CaseView) {
  const { expected, actual } = values?.arrays ?? {};
  return String(expected?.shape) !== String(actual?.shape);
}

/**
 * By how much the index of an element of the output is less than the expected one of the same place, for each axis in
 * NCX; empty if nothing is moved, or it is not known.
 */
export function movedBy(view: CaseView) {
  const { geometry } = view;
  const given = givenOutput(view);
  const moved =
    geometry && given?.known && sameSpacing(geometry, given.geometry) ? shiftOf(geometry, given.geometry) : [];
  return moved.some((by) => by !== 0) ? [0, 0, ...moved] : [];
}
