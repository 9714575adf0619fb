import type { Arrays } from "./fields.js";
import type { Geometry, Placement } from "./geometry.js";
import type { Call } from "./opened_case.js";
import type { Operands, Sizes } from "./sums.js";

// All that the view of a case shows, as one plain object. case_data.ts makes it of the page's data, and nothing else in
// the view knows that data.

/** The arrays; notes say what is left out. */
export type CaseValues = { arrays: Arrays; operands: Operands; notes: string[] };

/** What one run says of the case. */
interface CaseAnswer {
  run: string; // the backend with its version and options
  dialect: string;
  status: string;
  symbol: string;
  kind: string; // of the verdict
  said: string; // the verdict's phrase
  href: string;
  current: boolean; // whether it is the one that is open
  was: boolean; // whether it is of a baseline, which this page has no more of
}

export interface CaseNeighbour {
  differs: string; // such as `strides 2 → 1`
  status: string;
  symbol: string;
  kind: string;
  href: string;
}

/** Something that may explain the answer. */
export interface CaseCandidate {
  name: string;
  says: string;
}

interface CaseWhy {
  sentence: string; // who did what, in words
  cause: { words: string; href: string; count: number } | null; // what it has in common with others of the run
  explanation: string; // why, as far as it is known
  clause: string;
  candidates: CaseCandidate[];
}

export interface CaseView {
  id: string;
  about: string;
  dialect: string;
  backend: string;
  why: CaseWhy;
  answers: CaseAnswer[];
  geometry: (Geometry & Sizes) | null; // what is expected; null where it is a refusal
  placement: Placement | null; // where the values of the answer lie
  noAnswer: string; // why there is no output to draw, such as a death; empty where there is one
  values: CaseValues | null; // the arrays; null where there are none
  call: Call | null;
  figures: [string, string][]; // the tolerance, the seconds, earlier answers
  prose: [string, string][]; // long texts, each with its heading
  waiver: Record<string, string> | null; // its facts by name; `href` where its link is an address of the web
  waiverExample: string; // the address of its example on this page
  neighbours: CaseNeighbour[]; // the nearest pass first
  commands: [string, string][]; // each with what it does
  issue: string; // the bug report; empty for none
}
