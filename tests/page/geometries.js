/*
 * Geometries that the tests of the drawings share.
 */

export const LINE = {
  spatial: [5],
  kernel: [4],
  strides: [3],
  dilations: [2],
  pads_begin: [2],
  output: [17],
  groups: 2,
  batch: 2,
  channels: 4,
  out_channels: 6,
};
export const PLANE = {
  spatial: [4, 6],
  kernel: [3, 3],
  strides: [2, 2],
  dilations: [1, 1],
  pads_begin: [2, 1],
  output: [7, 11],
  groups: 1,
  batch: 1,
  channels: 1,
  out_channels: 1,
};
