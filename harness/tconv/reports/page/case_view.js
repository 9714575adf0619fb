/*
 * All that the view of a case shows, as one plain object. case_data.js makes it of the page's data, and nothing else in the
 * view knows that data.
 */

/** @import { Arrays } from "./fields.js" */
/** @import { Geometry, Placement } from "./geometry.js" */
/** @import { Operands, Sizes } from "./sums.js" */

/** @typedef {{arrays: Arrays, operands: Operands, notes: string[]}} CaseValues notes say what is left out */
/**
 * What one run says of the case.
 *
 * @typedef {object} CaseAnswer
 * @property {string} run the backend with its version and options
 * @property {string} dialect
 * @property {string} status
 * @property {string} symbol
 * @property {string} kind of the verdict
 * @property {string} said the verdict's phrase
 * @property {string} href
 * @property {boolean} current whether it is the one that is open
 */
/**
 * @typedef {object} CaseNeighbour
 * @property {string} differs such as `strides 2 → 1`
 * @property {string} status
 * @property {string} symbol
 * @property {string} kind
 * @property {string} href
 */
/**
 * Something that may explain the answer.
 *
 * @typedef {object} CaseCandidate
 * @property {string} name
 * @property {string} says
 * @property {{words: string, href: string} | null} excludedBy the case that excludes it; null where it is left
 */
/**
 * @typedef {object} CaseWhy
 * @property {string} sentence what came of it, in words
 * @property {string} explanation why, as far as it is known
 * @property {string} clause
 * @property {CaseCandidate[]} candidates
 */
/**
 * @typedef {object} CaseView
 * @property {string} id
 * @property {string} about
 * @property {string} dialect
 * @property {string} backend
 * @property {CaseWhy} why
 * @property {CaseAnswer[]} answers
 * @property {(Geometry & Sizes) | null} geometry what is owed; null where it is a refusal
 * @property {Placement | null} placement where the values of the answer lie
 * @property {string} noAnswer why there is no output to draw, such as a death; empty where there is one
 * @property {CaseValues | null} values the arrays; null where there are none
 * @property {{attributes: [string, string][], inputs: [string, string, string][], layouts: [string, string]} | null} call
 * @property {[string, string][]} figures of the verdict
 * @property {[string, string][]} prose long texts, each with its heading
 * @property {Record<string, string> | null} waiver its facts by name; `href` where its link is an address of the web
 * @property {string} waiverExample the address of its example on this page
 * @property {CaseNeighbour[]} neighbours the nearest pass first
 * @property {[string, string][]} commands each with what it does
 * @property {[string, string][]} versions for the bug report
 */

export {};
