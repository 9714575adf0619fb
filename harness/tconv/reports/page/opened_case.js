import { openBlock, rowOf } from "./blocks.js";

/*
 * All that the page has of one case. The blocks that this needs are opened when the first case is.
 */

/** @import { Artifact } from "./arrays.js" */
/** @import { Block } from "./blocks.js" */
/** @import { Geometry, Placement } from "./geometry.js" */
/** @import { CaseRecord, PageData } from "./page_data.js" */
/** @import { Sizes } from "./sums.js" */

/**
 * What came of a record, beside its phrase; what would say nothing is absent. See records.py.
 *
 * @typedef {object} Detail
 * @property {[string, string][]} [figures]
 * @property {string[]} [readings]
 * @property {[string, string][]} [prose]
 * @property {string} [reason]
 * @property {string} [tolerance]
 * @property {string} [why]
 * @property {string} [earlier]
 * @property {string} [artifact]
 * @property {number} [waiver]
 * @property {Placement} [placement] where the values of a wrong output lie
 * @property {[string, string][]} [candidates] explanations, each by itself, and what each says
 */
/** @typedef {{attributes: [string, string][], inputs: [string, string, string][], layouts: [string, string]}} Call */
/**
 * What the dialect owes: values of a shape, a refusal, or nothing, as it cannot say the case.
 *
 * @typedef {object} Owed
 * @property {number[]} [shape] in the call's layout
 * @property {string} [dtype]
 * @property {[string, number[], number[], number[]][]} [disputed] other readings of the text: names, pads_begin, pads_end,
 *   output
 * @property {string[]} [refusals] why the same text may also refuse
 * @property {[string, string, boolean]} [refusal] the constraint, how the call breaks it, whether the text states it
 * @property {string} [inexpressible]
 */
/**
 * @typedef {object} Answer
 * @property {CaseRecord} record
 * @property {Detail} detail
 */
/**
 * @typedef {object} OpenedCase
 * @property {CaseRecord} record the record that is open
 * @property {Detail} detail of it
 * @property {Answer[]} answers of all runs to this case, in the order of the runs, the open one included
 * @property {{id: string, names: string[]}[]} related other failures of the run with the same cause, the shortest id first,
 *   and the names of what explains each; empty where there is nothing to choose between
 * @property {Call | null} call
 * @property {(Geometry & Sizes) | null} geometry what is owed; null where that is no output
 * @property {Owed} owed
 * @property {string} about what the case is for; may be empty
 * @property {string} clause the words of the dialect's text that the case cites; may be empty
 * @property {Artifact | null} artifact the arrays of the open record
 */

/** @type {Map<string, Promise<Block<any>>>} */
const openedBlocks = new Map();

/**
 * What the page has of a record's case.
 *
 * @param {PageData} data
 * @param {CaseRecord} record
 * @returns {Promise<OpenedCase>}
 */
export async function openCase(data, record) {
  const [details, problems] = await Promise.all([open("details"), open("problems")]);
  /** @param {CaseRecord} of */
  const answer = (of) => ({ record: of, detail: describeDetail(at(details, data.columns.detail[of.number])) });
  const problem = at(problems, data.columns.problem[record.number]);
  const { detail } = answer(record);
  const answers = data.recordsOf(record.caseNumber).map(answer);
  const related = (detail.candidates ?? []).length > 1 ? relatedTo(record, data, details) : [];
  return { record, detail, answers, related, ...describeProblem(problem), artifact: await artifactOf(record, detail) };
}

/**
 * @param {CaseRecord} record
 * @param {PageData} data
 * @param {Block<any>} details
 */
function relatedTo({ number, cause }, { columns, ids }, details) {
  const found = [];
  for (let other = 0; cause > 0 && other < columns.cause.length; other++) {
    if (columns.cause[other] !== cause || columns.run[other] !== columns.run[number] || other === number) continue;
    const { candidates = [] } = at(details, columns.detail[other]);
    const names = candidates.map((/** @type {[string, string]} */ [name]) => name);
    if (names.length > 0) found.push({ id: ids[columns.case[other]], names });
  }
  return found.toSorted((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1));
}

/**
 * The arrays of a record; null where it has none.
 *
 * @param {CaseRecord} record
 * @param {Detail} detail
 * @returns {Promise<Artifact | null>}
 */
export async function artifactOf(record, detail) {
  if (!detail.artifact) return null;
  const element = document.getElementById(`arrays-${record.number}`);
  if (!element) {
    const limits = document.getElementById("data")?.dataset.limits;
    const note = `The arrays are not on this page, which has those of ${limits}. The artifact is ${detail.artifact}.`;
    return { notes: [note], grids: {} };
  }
  /** @type {Block<{notes: string[], shapes: Record<string, number[]>}>} */
  const { values, arrays } = await openBlock(element.textContent);
  const grids = Object.entries(values.shapes).map(([name, shape]) => [name, { shape, values: arrays[name] }]);
  return { notes: values.notes, grids: Object.fromEntries(grids) };
}

/** @param {string} id */
function open(id) {
  const block = openedBlocks.get(id) ?? openBlock(document.getElementById(id)?.textContent ?? "");
  openedBlocks.set(id, block);
  return block;
}

/**
 * @param {Block<Record<string, unknown[]>>} table
 * @param {number} number from 1; 0 for none
 */
const at = (table, number) => (number > 0 ? rowOf(table, number - 1) : {});

/**
 * @param {Record<string, any>} row as records.py writes it
 * @returns {Detail}
 */
function describeDetail(row) {
  if (!row.placement) return row;
  const [output, strides, dilations, begins] = row.placement;
  return { ...row, placement: { output, strides, dilations, pads_begin: begins } };
}

/** @param {Record<string, any>} problem as problems.py writes it */
function describeProblem(problem) {
  const { layouts, shape, dtype, disputed, refusals, refusal, inexpressible } = problem;
  /** @param {string} begin */
  const named = (begin) => Object.entries(problem).filter(([name]) => name.startsWith(begin));
  const { about = "", clause = "" } = problem;
  const attributes = named("attribute ").map(([name, text]) => [name.slice("attribute ".length), text]);
  const inputs = named("input ").map(([, input]) => input);
  return {
    call: layouts ? /** @type {Call} */ ({ attributes, inputs, layouts }) : null,
    geometry: problem.spatial ? /** @type {Geometry & Sizes} */ (/** @type {unknown} */ (problem)) : null,
    about,
    clause,
    owed: /** @type {Owed} */ ({ shape, dtype, disputed, refusals, refusal, inexpressible }),
  };
}
