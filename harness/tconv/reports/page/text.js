/*
 * How numbers, shapes and commands are written.
 */

const COUNTS = new Intl.NumberFormat("en");

/** @param {number} count */
export const formatCount = (count) => COUNTS.format(count);

/** @param {readonly number[]} sizes a shape or an index */
export const formatShape = (sizes) => `[${sizes.join(", ")}]`;

/**
 * The shortest decimal that means this float32.
 *
 * @param {number} value
 */
export function formatFloat32(value) {
  if (!Number.isFinite(value)) return String(value);
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return formatDouble(rounded);
  }
  return formatDouble(Number(value.toPrecision(9)));
}

/**
 * A float32 in at most `room` characters, rounded if need be; an empty text where that is not enough.
 *
 * @param {number} value
 * @param {number} room
 */
export function formatWithin(value, room) {
  const exact = formatFloat32(value).replace("Infinity", "∞");
  if (exact.length <= room) return exact;
  const rounded = String(Number(value.toPrecision(2)));
  return rounded.length <= room ? rounded : "";
}

/**
 * A word of a command, quoted for the shell where it must be, as Python's shlex.quote does.
 *
 * @param {string} word
 */
export const quoteArgument = (word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** @param {number} value */
function formatDouble(value) {
  return value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
}
