import { matches, parsePattern } from "./patterns.js";

/*
 * The page's search. What the command line's pattern means is found; words are looked for in ids and details, too.
 */

/** @import { Case } from "./patterns.js" */

/** @typedef {Case & {text: string}} Searched with the text that words are looked for in, in lower case */
/** @typedef {(record: Searched) => boolean} Test */

/** White space separates words, except in brackets: the conditions of a pattern may have spaces. */
const WORDS = /(?:\[[^\]]*\]|\S)+/gu;
const CONDITION = /^[\w.+-]+=./u;

/**
 * Return the test that a query means: all of its words hold, or it is one pattern, whose path may have spaces.
 *
 * @param {string} query
 * @returns {Test}
 */
export function parseQuery(query) {
  const words = (query.match(WORDS) ?? []).map(parseWord);
  const whole = patternTest(query);
  return (record) => words.every((test) => test(record)) || whole(record);
}

/**
 * @param {string} word
 * @returns {Test}
 */
function parseWord(word) {
  if (word.length > 1 && word.startsWith("-")) {
    const excluded = parseWord(word.slice(1));
    return (record) => !excluded(record);
  }
  // A condition alone is no free text: strides=2 must not find strides=2x3.
  if (CONDITION.test(word) && parsePattern(`**[${word}]`)) return patternTest(`**[${word}]`);
  const pattern = patternTest(word);
  const text = word.toLowerCase();
  return (record) => record.text.includes(text) || pattern(record);
}

/**
 * @param {string} text
 * @returns {Test}
 */
function patternTest(text) {
  const pattern = parsePattern(text);
  return (record) => pattern !== null && matches(pattern, record);
}
