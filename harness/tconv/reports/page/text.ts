// How numbers and shapes are written.

const COUNTS = new Intl.NumberFormat("en");

export const formatCount = (count: number) => COUNTS.format(count);

/** Write a shape or an index. */
export const formatShape = (sizes: readonly number[]) => `[${sizes.join(", ")}]`;

/** The shortest decimal that means this float32. */
export function formatFloat32(value: number) {
  if (!Number.isFinite(value)) return String(value);
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return formatDouble(rounded);
  }
  return formatDouble(Number(value.toPrecision(9)));
}

/** A number in five digits, or if it is large in two. */
export const formatRounded = (value: number) =>
  Math.abs(value) < 1e6 ? formatDouble(Number(value.toPrecision(5))) : value.toExponential(1);

/** A float32 in at most `room` characters, rounded if need be; an empty text where that is not enough. */
export function formatWithin(value: number, room: number) {
  const exact = formatFloat32(value).replace("Infinity", "∞");
  if (exact.length <= room) return exact;
  const rounded = String(Number(value.toPrecision(2)));
  return rounded.length <= room ? rounded : "";
}

function formatDouble(value: number) {
  return value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
}
