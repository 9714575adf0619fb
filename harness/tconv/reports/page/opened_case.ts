import type { Artifact } from "./arrays.js";
import { type Block, openBlock, rowOf, type Table } from "./blocks.js";
import type { Geometry } from "./geometry.js";
import type { CaseRecord, PageData } from "./page_data.js";
import type { Sizes } from "./sums.js";

// All that the page has of one case. The blocks that this needs are opened when the first case is.

/** What came of a record, beside its phrase; what would say nothing is absent. See records.py. */
interface Detail {
  readings?: Readings; // those that the backend follows
  wrong?: number; // elements that count as wrong
  prose?: [string, string][];
  reason?: string;
  tolerance?: string;
  why?: string;
  earlier?: string;
  artifact?: string;
  waiver?: number;
  placement?: [output: number[], strides: number[], dilations: number[], pads_begin: number[][]]; // of a wrong output's values
  candidates?: [string, string][]; // explanations, each by itself, and what each says
  issue?: string; // the bug report, of the example of a cause
  was?: [backend: string, status: string, kind: string, said: string]; // in the baseline
}

export type GraphNode = [gives: string, kind: string, words: string, isOperator: boolean];
export type Call = {
  attributes: [string, string][];
  inputs: [string, string, string][];
  layouts: [string, string];
  graph: GraphNode[];
};

/** Readings that give one output: each the names of those that are followed together. */
export type Readings = string[][];

/** What the dialect expects: values of a shape, a refusal, or nothing, as it cannot say the case. */
interface Expected {
  shape?: number[]; // in the call's layout
  dtype?: string;
  disputed?: [Readings, number[], number[]][]; // other readings of the text, pads_begin, output
  refusals?: string[]; // why the same text may also refuse
  refusal?: [string, string, boolean]; // the constraint, how the call breaks it, whether the text states it
  notApplicable?: string;
}

export type Answer = { record: CaseRecord; detail: Detail };

export interface OpenedCase {
  record: CaseRecord; // the record that is open
  detail: Detail; // of it
  answers: Answer[]; // of all runs to this case, in the order of the runs, the open one included
  call: Call | null;
  geometry: (Geometry & Sizes) | null; // what is expected; null where that is no output
  expected: Expected;
  about: string; // what the case is for; may be empty
  clause: string; // the words of the dialect's text that the case cites; may be empty
  artifact: Artifact | null; // the arrays of the open record
}

/** What problems.py writes of a case, with `attribute NAME` and `input NAME` for those of the call. */
type ProblemRow = ((Geometry & Sizes) | { spatial?: undefined }) &
  Expected & { layouts?: [string, string]; graph?: GraphNode[]; about?: string; clause?: string };

const openedBlocks = new Map<string, Promise<Table>>();

/** What the page has of a record's case. */
export async function openCase(data: PageData, record: CaseRecord): Promise<OpenedCase> {
  const [details, problems] = await Promise.all([open("details"), open("problems")]);
  const answer = (of: CaseRecord) => ({ record: of, detail: at<Detail>(details, data.columns.detail[of.number]) });
  const problem = at<ProblemRow>(problems, data.columns.problem[record.number]);
  const { detail } = answer(record);
  const answers = data.recordsOf(record.caseNumber).map(answer);
  return { record, detail, answers, ...describeProblem(problem), artifact: await artifactOf(record, detail) };
}

/** The arrays of a record; null where it has none. */
async function artifactOf(record: CaseRecord, detail: Detail): Promise<Artifact | null> {
  if (!detail.artifact) return null;
  const element = document.getElementById(`arrays-${record.number}`);
  if (!element) {
    const limits = document.getElementById("data")?.dataset.limits;
    const note = `The arrays are not on this page, which has those of ${limits}. The artifact is ${detail.artifact}.`;
    return { notes: [note], grids: {} };
  }
  const { values, arrays }: Block<{ notes: string[]; shapes: Record<string, number[]> }> = await openBlock(
    element.textContent,
  );
  const grids = Object.entries(values.shapes).map(([name, shape]) => [name, { shape, values: arrays[name] }]);
  return { notes: values.notes, grids: Object.fromEntries(grids) };
}

function open(id: string) {
  const block = openedBlocks.get(id) ?? openBlock(document.getElementById(id)?.textContent ?? "");
  openedBlocks.set(id, block);
  return block;
}

/** A row by its number from 1; without a value for 0, which is no row. */
const at = <Row>(table: Table, number: number) => rowOf<Row>(table, number - 1);

function describeProblem(problem: ProblemRow) {
  const { layouts, graph = [], shape, dtype, disputed, refusals, refusal, notApplicable } = problem;
  const named = (begin: string) => Object.entries(problem).filter(([name]) => name.startsWith(begin));
  const { about = "", clause = "" } = problem;
  const attributes = named("attribute ").map(([name, text]): [string, string] => [
    name.slice("attribute ".length),
    text,
  ]);
  const inputs = named("input ").map(([, input]) => input);
  return {
    call: layouts ? { attributes, inputs, layouts, graph } : null,
    geometry: problem.spatial ? problem : null,
    about,
    clause,
    expected: { shape, dtype, disputed, refusals, refusal, notApplicable },
  };
}
