import assert from "node:assert/strict";
import { test } from "node:test";
import {
  fullOf,
  offsetWords,
  placedGeometry,
  productsAt,
  productsOf,
  sameSpacing,
  scaleOn,
  shiftOf,
  shownRanges,
} from "./build/geometry.js";
import { frameWords } from "./build/lane_rows.js";
import { laneDrawing } from "./build/lanes.js";
import { placesAt, planeDrawing } from "./build/planes.js";
import { LINE, PLANE } from "./geometries.js";

const expected = { name: "expected", begin: 2, size: 17, known: true, role: "expected" };

test("a place has the products whose input element and tap meet there, and no others", () => {
  const full = fullOf(LINE, 0);
  assert.equal(full, (5 - 1) * 3 + (4 - 1) * 2 + 1);
  const scattered = Array.from({ length: full }, () => []);
  for (let element = 0; element < 5; element++) {
    for (let tap = 0; tap < 4; tap++) scattered[element * 3 + tap * 2].push([element, tap]);
  }
  for (let place = 0; place < full; place++) assert.deepEqual(productsAt(LINE, 0, place), scattered[place], place);
  assert.deepEqual(productsAt(LINE, 0, -1), []);
  assert.deepEqual(productsAt(LINE, 0, full), []);
});

test("the products of an element are those of its axes, crossed", () => {
  assert.deepEqual(
    productsOf(PLANE, [0, 1]),
    [
      [
        [0, 1],
        [2, 0],
      ],
      [
        [0, 0],
        [2, 2],
      ],
      [
        [1, 1],
        [0, 0],
      ],
      [
        [1, 0],
        [0, 2],
      ],
    ].sort((a, b) => a[0][0] - b[0][0] || a[0][1] - b[0][1]),
  );
});

test("of several places the nearest to what is expected is drawn, and none where the values do not tell", () => {
  const placement = { output: [16], strides: [3], dilations: [2], pads_begin: [[9], [3], [-4]] };
  assert.deepEqual(placedGeometry(LINE, placement)?.pads_begin, [3]);
  assert.equal(placedGeometry(LINE, { ...placement, pads_begin: [] }), null);
  assert.equal(placedGeometry(LINE, { ...placement, output: [16, 2] }), null);
  assert.equal(placedGeometry(LINE, null), null);
});

test("an output that lies elsewhere is told by how far and on which axis", () => {
  const given = { ...LINE, output: [16], pads_begin: [3] };
  assert.deepEqual(shiftOf(LINE, given), [1]);
  assert.deepEqual(offsetWords(LINE, given), ["begins 1 later and is 1 shorter"]);
  assert.deepEqual(offsetWords(LINE, LINE), []);
  const plane = { ...PLANE, pads_begin: [0, 1] };
  assert.deepEqual(offsetWords(PLANE, plane), ["begins 2 earlier on axis 0"]);
  assert.ok(sameSpacing(LINE, given));
  assert.ok(!sameSpacing(LINE, { ...LINE, strides: [1] }));
});

test("a long row shows its ends and what is around the chosen number", () => {
  assert.deepEqual(shownRanges(-2, 10, 12, 0), [[-2, 10]]);
  assert.deepEqual(shownRanges(0, 1000, 32, 500), [
    [0, 10],
    [495, 505],
    [990, 1000],
  ]);
  assert.deepEqual(shownRanges(0, 1000, 32, 3), [
    [0, 10],
    [990, 1000],
  ]);
  assert.deepEqual(shownRanges(0, 1000, 32, 999), [
    [0, 10],
    [990, 1000],
  ]);
});

test("a scale gives back the number of each pixel, and puts what is left out into the gap", () => {
  const scale = scaleOn(
    [
      [-2, 3],
      [40, 42],
    ],
    10,
  );
  assert.equal(scale.width, 80);
  assert.deepEqual(scale.gaps, [50]);
  for (const at of [-2, 0, 2, 40, 41]) {
    assert.equal(scale.at(scale.x(at) + 5), at);
    assert.ok(scale.shows(at));
  }
  assert.ok(!scale.shows(20));
  assert.equal(scale.x(3), 50);
  assert.equal(scale.x(20), 55);
  assert.equal(scale.x(42), 80);
});

test("lanes show the input, the taps that meet the place, and each frame to scale", () => {
  const given = { ...expected, name: "acme", begin: 3, size: 16, role: "given" };
  const { shapes, width } = laneDrawing({ geometry: LINE, axis: 0, frames: [expected, given], place: 8, room: 600 });
  const boxes = (style) => shapes.filter((shape) => shape.kind === "rect" && shape.style === style);
  assert.equal(boxes("data").length + boxes("data lit").length, 5);
  assert.deepEqual(productsAt(LINE, 0, 8).length, boxes("tap lit").length);
  const [one, other] = [boxes("frame expected")[0], boxes("frame given")[0]];
  const unit = (one.width + 2) / 17;
  assert.equal(other.x - one.x, unit);
  assert.equal(other.width + 2, 16 * unit);
  assert.equal(width >= 19 * unit, true);
  assert.equal(boxes("cropped").length, 2 + 3);
});

test("no drawing of a long axis is wider than its room", () => {
  const geometry = { ...LINE, spatial: [4000], output: [12_000] };
  const { width } = laneDrawing({ geometry, axis: 0, frames: [{ ...expected, size: 12_000 }], place: 6000, room: 340 });
  assert.ok(width <= 340, width);
});

test("a frame is told in words: what is cropped, what is added, what is unknown", () => {
  assert.equal(frameWords(expected, 19), "expected: 17 long, 2 cropped at the beginning, 0 cropped at the end");
  assert.equal(frameWords({ ...expected, begin: 0, size: 19 }, 19), "expected: 19 long, nothing is cropped");
  assert.match(frameWords({ ...expected, begin: -1, size: 21 }, 19), /1 added at the beginning, where no tap reaches/u);
  assert.match(
    frameWords({ ...expected, added: 1 }, 19),
    /1 cropped at the end, and the last 1 is there by output_padding/u,
  );
  assert.match(frameWords({ ...expected, known: false }, 19), /the values do not tell/u);
});

test("a plane has its frames and the chosen place, and knows the place under a point", () => {
  const frames = [0, 1].map((axis) => ({ ...expected, begin: PLANE.pads_begin[axis], size: PLANE.output[axis] }));
  const panel = planeDrawing({ geometry: PLANE, axes: [0, 1], frames: [frames], places: [2, 2], room: 900 });
  const styles = panel.shapes.map(({ style }) => style);
  assert.equal(styles.filter((style) => style === "reached lit").length, 1);
  assert.equal(styles.filter((style) => style === "frame expected").length, 1);
  const lit = panel.shapes.find(({ style }) => style === "reached lit");
  assert.deepEqual(placesAt(panel, [lit.x + 1, lit.y + 1]), [2, 2]);
  const [x, y] = panel.grid.corner(4, 7);
  assert.deepEqual(placesAt(panel, [x + 1, y + 1]), [4, 7]);
});
