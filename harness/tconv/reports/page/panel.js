import { formatFragment } from "./address.js";
import { copyButton, el, note } from "./elements.js";
import { Viewer } from "./heatmap.js";
import { partition } from "./patterns.js";
import { quoteArgument } from "./text.js";
import { describeArrays } from "./values.js";

/*
 * What the panel shows of a record.
 */

/** @import { Options } from "./heatmap.js" */
/** @import { Call, OpenedCase, Detail } from "./opened_case.js" */
/** @import { CaseRecord, PageData } from "./page_data.js" */

/**
 * Everything about a record, and the viewers among it, which must be drawn once they are in the page.
 *
 * @param {OpenedCase} given
 * @param {PageData} data
 */
export function describeRecord({ record, detail, call, artifact }, data) {
  const { id, run } = record;
  const [path, labels] = partition(id, "[");
  const head = el("h2", { id: "detail-head", tabindex: -1 }, el("span", {}, path));
  if (labels) head.append(el("span", { class: "labels" }, `[${labels}`));
  const status = el("strong", { class: record.status }, `${record.symbol} ${record.status}`);
  const corpus = run.cases ? ` --cases ${quoteArgument(run.cases)}` : "";
  const chosen = run.options.map((text) => ` --option ${quoteArgument(text)}`).join("");
  const options = `--backend ${quoteArgument(run.backend)}${chosen} --dialect ${quoteArgument(run.dialect)}`;
  /** @type {Viewer[]} */
  const viewers = [];
  /** @param {Options} shown */
  const view = (shown) => {
    const [{ title, grid }] = shown.panes;
    if (grid.shape.includes(0)) return note(`${title}: no elements.`);
    const viewer = new Viewer(shown);
    viewers.push(viewer);
    return viewer.element;
  };
  const elements = [
    head,
    el("p", { class: "said" }, status, ` ${record.kind}, ${run.name}`),
    section("Verdict", pairs(figures(record, detail))),
    ...readings(detail.readings ?? [], data.readings[run.dialect] ?? {}),
    ...(detail.waiver === undefined ? [] : [waiver(data.waivers[detail.waiver])]),
    ...(detail.prose ?? []).map(([heading, text]) => section(heading, el("pre", { tabindex: 0 }, text))),
    ...(artifact ? [section("Values, in NCX", ...describeArrays(artifact, detail, view))] : []),
    ...(call ? [describeCall(call, run.dialect)] : []),
    section(
      "Reproduce",
      command(`tconv run ${quoteArgument(id)} ${options}${corpus}`),
      command(`tconv show ${quoteArgument(id)}${corpus}`),
    ),
  ];
  return { elements, viewers };
}

/**
 * @param {string} heading
 * @param {Node[]} children
 */
function section(heading, ...children) {
  return el("section", { class: "part" }, el("h3", {}, heading), ...children);
}

/**
 * A list of names and values.
 *
 * @param {[string, string | Node][]} entries
 * @param {string} style
 */
function pairs(entries, style = "") {
  const items = entries.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el("dl", { class: `pairs ${style}` }, ...items);
}

/**
 * A command with a button that copies it.
 *
 * @param {string} text
 */
function command(text) {
  const shown = el("pre", {}, text);
  const copy = copyButton("Copy", () => text, shown);
  return el("div", { class: "command" }, shown, copy);
}

/**
 * @param {CaseRecord} record
 * @param {Detail} detail
 */
function figures({ phrase, seconds }, detail) {
  const entries = [...(detail.figures ?? [["what came of it", phrase]])];
  if (detail.reason) entries.push(["so judged because", detail.reason]);
  if (detail.why) entries.push(["explained", detail.why]);
  if (detail.harmed) entries.push(["died of", detail.harmed]);
  if (detail.tolerance) entries.push(["allowed", detail.tolerance]);
  if (seconds !== null) entries.push(["seconds", String(seconds)]);
  return entries;
}

/**
 * The readings that the backend follows, each with its words and whom it cites.
 *
 * @param {string[]} names
 * @param {Record<string, [string, string]>} known
 */
function readings(names, known) {
  if (names.length === 0) return [];
  const parts = [...new Set(names.flatMap((name) => name.split(" + ")))];
  /** @type {[string, string][]} */
  const entries = parts.map((name) => {
    const [says, cites] = known[name] ?? ["", ""];
    return [name, cites ? `${says} (${cites})` : says];
  });
  return [section("Readings followed", pairs(entries))];
}

/**
 * A waiver; its link is an element only where the report found it to be an address of the web.
 *
 * @param {Record<string, string>} facts
 */
function waiver(facts) {
  const names = ["because", "clause", "cases", "verdict", "dialects", "versions", "date"];
  /** @type {[string, string | Node][]} */
  const entries = names.map((name) => [name, facts[name]]);
  entries.push(["example", el("a", { href: formatFragment({ case: facts.example }) }, facts.example)]);
  if (facts.href) entries.push(["link", el("a", { href: facts.href, rel: "noopener noreferrer" }, facts.href)]);
  else if (facts.link) entries.push(["link", facts.link]);
  return section(`Waiver: ${facts.name}`, pairs(entries));
}

/**
 * The call in the dialect's words.
 *
 * @param {Call} said
 * @param {string} dialect
 */
function describeCall({ attributes, inputs, layouts: [data, filter] }, dialect) {
  const heads = ["input", "shape", "type"].map((name) => el("th", { scope: "col" }, name));
  const rows = inputs.map(([name, ...cells]) => {
    const head = el("th", { scope: "row" }, name);
    return el("tr", {}, head, ...cells.map((cell) => el("td", { class: "mono" }, cell)));
  });
  const table = el("table", { class: "inputs" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  /** @type {[string, string][]} */
  const entries = attributes.length > 0 ? [...attributes] : [["attributes", "none"]];
  entries.push(["layouts", `data ${data}, filter ${filter}`]);
  return section(`Call, ${dialect}`, pairs(entries, "mono"), table);
}
