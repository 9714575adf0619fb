import type { CaseView } from "./case_data.js";
import { copyButton, el, foldable } from "./elements.js";
import { formatCount } from "./text.js";

// The parts of a case's view that are words: why, every backend's answer, the call, the neighbours, the commands.

const NEIGHBOURS = 12;

export const part = (heading: string, ...children: (Node | string)[]) =>
  el("section", {}, el("h3", {}, heading), ...children);

const listed = (entries: [string, string | Node][], style = "") =>
  el(
    "dl",
    { class: `pairs ${style}` },
    ...entries.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );

export function whySection({ why, about, figures, prose }: CaseView) {
  const children = [el("p", { class: "answer" }, why.sentence)];
  if (why.cause) {
    const { words, href, count } = why.cause;
    children.push(el("p", {}, "Cause: ", el("a", { href }, words), ` (one of ${formatCount(count)})`));
  }
  if (about) children.push(el("p", { class: "muted" }, "About this case: ", about));
  if (why.explanation) children.push(el("p", { class: "answer" }, why.explanation));
  const candidates = why.candidates.map(({ name, says }) =>
    el("li", {}, el("strong", {}, name), says ? `: ${says}` : ""),
  );
  const more: Node[] = candidates.length > 0 ? [el("ul", { class: "candidates" }, ...candidates)] : [];
  if (why.clause) more.push(el("p", {}, el("span", { class: "muted" }, "The specification: "), why.clause));
  const texts = prose.flatMap(([heading, text]) => [el("h4", {}, heading), el("pre", { tabindex: 0 }, text)]);
  const all = figures.length > 0 ? [el("details", {}, el("summary", {}, "How it was judged"), listed(figures))] : [];
  return el("section", { class: "why" }, el("h3", {}, "Why"), ...children, ...more, ...texts, ...all);
}

export function answersSection({ answers }: CaseView) {
  const heads = ["backend", "status", "what it did"].map((name) => el("th", { scope: "col" }, name));
  const rows = answers.map(({ run, dialect, status, symbol, kind, said, href, current, was }) =>
    el(
      "tr",
      { "aria-current": current ? "true" : null },
      el("th", { scope: "row" }, current || was ? run : el("a", { href }, run), el("small", {}, ...foldable(dialect))),
      el("td", { class: `status ${status}` }, el("span", { "aria-hidden": "true" }, symbol), ` ${status}`),
      el("td", {}, kind, el("small", {}, said)),
    ),
  );
  const table = el("table", { class: "answers" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  return part(
    answers.length > 1 ? "Every backend's answer" : "The backend's answer",
    el("div", { class: "wide" }, table),
  );
}

/** A waiver; its link is an element only where the report found it to be an address of the web. */
export function waiverSection({ waiver, waiverExample }: CaseView) {
  if (!waiver) return [];
  const names = ["because", "clause", "cases", "verdict", "dialects", "versions", "date"];
  const entries: [string, string | Node][] = names.map((name) => [name, waiver[name]]);
  entries.push(["example", el("a", { href: waiverExample }, waiver.example)]);
  if (waiver.href) entries.push(["link", el("a", { href: waiver.href, rel: "noopener noreferrer" }, waiver.href)]);
  else if (waiver.link) entries.push(["link", waiver.link]);
  return [part(`Waiver: ${waiver.name}`, listed(entries))];
}

/** The call in the dialect's words. */
export function callSection({ call, dialect }: CaseView) {
  if (!call) return [];
  const heads = ["input", "shape", "type"].map((name) => el("th", { scope: "col" }, name));
  const rows = call.inputs.map(([name, ...cells]) =>
    el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((cell) => el("td", { class: "mono" }, cell))),
  );
  const table = el("table", { class: "inputs" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  const [data, filter] = call.layouts;
  const entries: [string, string][] = call.attributes.length > 0 ? [...call.attributes] : [["attributes", "none"]];
  entries.push(["layouts", `data ${data}, filter ${filter}`]);
  return [part(`Call, ${dialect}`, listed(entries, "mono"), table)];
}

/** The operations around the operator, in their order. */
export function graphSection({ call }: CaseView) {
  if (!call || call.graph.length === 0) return [];
  const nodes = call.graph.map(([gives, kind, words, isOperator]) =>
    el("li", { class: isOperator ? "operator" : null }, el("strong", {}, kind), el("small", {}, `${words} → ${gives}`)),
  );
  return [part("Graph", el("ol", { class: "graph" }, ...nodes))];
}

export function neighboursSection({ neighbours }: CaseView) {
  if (neighbours.length === 0) return [];
  const items = neighbours
    .slice(0, NEIGHBOURS)
    .map(({ differs, status, symbol, href }) =>
      el(
        "li",
        {},
        el("span", { class: status }, el("span", { "aria-hidden": "true" }, symbol), ` ${status}`),
        el("a", { href }, el("code", {}, differs)),
      ),
    );
  const more = neighbours.length - items.length;
  const rest = more > 0 ? [el("p", { class: "muted" }, `and ${more} more`)] : [];
  return [part("Neighbours that differ in one attribute", el("ul", { class: "neighbours" }, ...items), ...rest)];
}

export function commandsSection({ commands, issue }: CaseView) {
  const lines = commands.map(([name, text]) => {
    const shown = el("pre", {}, ...text.split(" ").flatMap((word) => [el("span", {}, ...foldable(word)), " "]));
    return el(
      "div",
      { class: "command" },
      el("span", {}, name),
      shown,
      copyButton("Copy", () => text, shown, `Copy: ${name}`),
    );
  });
  return part("Commands", el("div", { class: "commands" }, ...lines), ...issuePart(issue));
}

/** The bug report of the example of a cause; of other cases the commands above write it. */
function issuePart(issue: string) {
  if (!issue) return [];
  const text = el("pre", { tabindex: 0 }, issue);
  const copy = copyButton("Copy the report", () => issue, text);
  return [el("details", {}, el("summary", {}, "The bug report, to copy"), copy, text)];
}
