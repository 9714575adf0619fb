import { overlaid } from "./fields.js";
import { placedGeometry, sameSpacing, shiftOf } from "./geometry.js";

/*
 * The output that came beside the one that is owed: where it lies, and both on one grid.
 */

/** @import { CaseView } from "./case_view.js" */
/** @import { DrawnOutput } from "./geometry_view.js" */

/**
 * The output that came, for the drawing; null where there is none, or it is where it is owed.
 *
 * @param {CaseView} view
 * @returns {DrawnOutput | null}
 */
export function givenOutput({ geometry, placement, backend }) {
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

/** @param {CaseView} view */
export function shapesDiffer({ values }) {
  const { expected, actual } = values?.arrays ?? {};
  return String(expected?.shape) !== String(actual?.shape);
}

/**
 * By how much the index of an element of what came is less than the owed one of the same place, for each axis in NCX;
 * empty where nothing is moved, or it is not known.
 *
 * @param {CaseView} view
 */
export function movedBy(view) {
  const { geometry } = view;
  const given = givenOutput(view);
  const moved =
    geometry && given?.known && sameSpacing(geometry, given.geometry) ? shiftOf(geometry, given.geometry) : [];
  return moved.some((by) => by !== 0) ? [0, 0, ...moved] : [];
}

/**
 * Both outputs on one grid as the case is first shown; null where there are no two that can be laid over each other.
 *
 * @param {CaseView} view
 */
export function outputFields(view) {
  const { expected, actual } = view.values?.arrays ?? {};
  if (!(expected && actual) || expected.shape.length !== actual.shape.length) return null;
  if (expected.shape.includes(0) || actual.shape.includes(0)) return null;
  return overlaid(view.values?.arrays ?? {}, shapesDiffer(view) ? movedBy(view) : []);
}
