"use strict";

/**
 * The page's behaviour: a filtered and sorted table of records, a panel for one of them, heatmaps of its arrays.
 *
 * All data is text of others: it reaches the page through textContent and attributes, never as markup. The address's
 * fragment is the state, so that a link to a case or to a filter can be shared.
 *
 * @typedef {[number, string, number, number, string, ?number, Object]} Row run, case, status, verdict, phrase, seconds, detail
 * @typedef {{shape: number[], values: Float32Array}} Grid
 */
(() => {
  const byId = (id) => document.getElementById(id);
  const DATA = JSON.parse(byId("data").textContent);
  const [RUN, CASE, STATUS, KIND, PHRASE, SECONDS, DETAIL] = [0, 1, 2, 3, 4, 5, 6];
  const STATUSES = DATA.statuses.map(([name]) => name);
  const SYMBOLS = DATA.statuses.map(([, symbol]) => symbol);
  const narrow = matchMedia("(max-width: 60rem)");

  const topicOf = (id) => id.split("[", 1)[0].split("/", 1)[0];

  // ---------------------------------------------------------------- state and address

  const FILTERS = ["q", "status", "verdict", "topic", "backend", "sort"];
  let state = {};

  /** Read a fragment; `+` is itself, since ids are full of it. */
  function parse(fragment) {
    const read = {};
    for (const part of fragment.replace(/^#/, "").split("&")) {
      const equals = part.indexOf("=");
      if (equals < 1) continue;
      const value = part.slice(equals + 1);
      try {
        read[part.slice(0, equals)] = decodeURIComponent(value);
      } catch {
        read[part.slice(0, equals)] = value;
      }
    }
    return read;
  }

  /** Write a fragment, the characters that a fragment may have left readable. */
  function fragment(values) {
    const encoded = (text) => encodeURIComponent(text).replace(/%(2F|2C|3D|3A|2B)/g, decodeURIComponent);
    const named = [...FILTERS, "case", "run"].filter((name) => values[name]);
    return "#" + named.map((name) => `${name}=${encoded(values[name])}`).join("&");
  }

  /** Change filters in place: typing leaves no trail in the history. */
  function refine(changes) {
    state = { ...state, ...changes };
    history.replaceState(null, "", fragment(state));
    show();
    showControls();
  }

  /** The link to a record under the filters of now. */
  const linkTo = (row) => fragment({ ...state, case: row[CASE], run: DATA.runs[row[RUN]].key });

  // ---------------------------------------------------------------- filters

  const haystacks = [];
  /** What words are looked for in. */
  const haystack = (n) => (haystacks[n] ??= `${DATA.rows[n][CASE]}\n${DATA.rows[n][PHRASE]}`.toLowerCase());

  const labelled = [];
  /** The labels in a record's id, by key. */
  function labels(n) {
    return (labelled[n] ??= new Map(
      (DATA.rows[n][CASE].split("[")[1] ?? "").replace(/\]$/, "").split(",").map((pair) => {
        const equals = pair.indexOf("=");
        return [pair.slice(0, equals), pair.slice(equals + 1)];
      }),
    ));
  }

  /** A glob as an expression: `*` within a segment, `**` across; `end` is what may follow. */
  function glob(text, end) {
    const meanings = { "**": ".*", "*": "[^/]*", "?": "[^/]" };
    const parts = text.split(/(\*\*|\*|\?)/);
    const escaped = parts.map((part) => meanings[part] ?? part.replace(/[\\^$.|+()[\]{}/-]/g, "\\$&"));
    return new RegExp(`^${escaped.join("")}${end}$`);
  }

  /** One condition `key=value|value` as a test. */
  function condition(text) {
    const equals = text.indexOf("=");
    const allowed = text.slice(equals + 1).split("|").map((value) => glob(value, ""));
    const key = text.slice(0, equals);
    return (n) => allowed.some((value) => value.test(labels(n).get(key) ?? ""));
  }

  /** One word of the search as a test of a record's number; the project's own patterns are words, too. */
  function word(text) {
    if (text.length > 1 && text.startsWith("-")) {
      const wanted = word(text.slice(1));
      return (n) => !wanted(n);
    }
    const plain = text.toLowerCase();
    const contains = (n) => haystack(n).includes(plain);
    const shape = /^([^[\]]+)\[([^[\]]*)\]$/.exec(text);
    if (shape || (text.includes("*") && !text.includes("="))) {
      const path = glob((shape ? shape[1] : text).replace(/\/$/, ""), "(?:/.*)?");
      const conditions = (shape?.[2] || "").split(",").filter((part) => part.includes("=")).map(condition);
      return (n) =>
        contains(n) || (path.test(DATA.rows[n][CASE].split("[", 1)[0]) && conditions.every((test) => test(n)));
    }
    return /^[\w-]+=./.test(text) ? condition(text) : contains;
  }

  /** The tests of the present filters, the status's apart: its chips count what the others leave. */
  function tests() {
    const found = (state.q || "").split(/\s+/).filter(Boolean).map(word);
    const kind = DATA.kinds.indexOf(state.verdict);
    const run = DATA.runs.findIndex(({ key }) => key === state.backend);
    if (state.verdict) found.push((n) => DATA.rows[n][KIND] === kind);
    if (state.backend) found.push((n) => DATA.rows[n][RUN] === run);
    if (state.topic) found.push((n) => topicOf(DATA.rows[n][CASE]) === state.topic);
    return found;
  }

  const COLUMNS = [
    { key: "status", label: "status", by: (row) => row[STATUS] },
    { key: "kind", label: "verdict", by: (row) => row[KIND] },
    { key: "case", label: "case", by: (row) => row[CASE] },
    { key: "phrase", label: "detail", by: (row) => row[PHRASE] },
    { key: "backend", label: "backend", by: (row) => row[RUN], several: true },
    { key: "seconds", label: "seconds", by: (row) => row[SECONDS] ?? -1 },
  ].filter((column) => !column.several || DATA.runs.length > 1);

  /** Sort numbers of records as the state says: what asks for attention first, then by id. */
  function sort(numbers) {
    const descending = (state.sort || "").startsWith("-");
    const column = COLUMNS.find(({ key }) => key === (state.sort || "").replace(/^-/, "")) ?? COLUMNS[0];
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return numbers.sort((a, b) => {
      const [one, other] = [DATA.rows[a], DATA.rows[b]];
      const order = compare(column.by(one), column.by(other));
      return (descending ? -order : order) || compare(one[CASE], other[CASE]) || a - b;
    });
  }

  // ---------------------------------------------------------------- the table

  const table = byId("table");
  const body = table.tBodies[0];
  let shown = [];
  let current = -1;
  let filtered = null;
  /** The most rows on paper; the page's style says so where there are more. */
  const PRINTED = 1000;

  /** Filter and sort anew where the filters are not those of the table. */
  function show() {
    const asked = fragment({ ...state, case: "", run: "" });
    if (asked === filtered) return;
    filtered = asked;
    const all = tests();
    const totals = STATUSES.map(() => 0);
    const wanted = new Set((state.status || "").split(",").filter(Boolean));
    shown = [];
    for (let n = 0; n < DATA.rows.length; n++) {
      if (!all.every((test) => test(n))) continue;
      const status = DATA.rows[n][STATUS];
      totals[status]++;
      if (!wanted.size || wanted.has(STATUSES[status])) shown.push(n);
    }
    sort(shown);
    const whole = count(DATA.rows.length);
    byId("found").value = shown.length === DATA.rows.length ? whole : `${count(shown.length)} of ${whole}`;
    byId("none").hidden = shown.length > 0;
    table.setAttribute("aria-rowcount", shown.length + 1);
    totals.forEach((total, index) => (chips[index].number.textContent = count(total)));
    body.replaceChildren();
    render();
  }

  /** Make the rows in view, a few more, and the one with the focus; every row has its place by its number. */
  function render(everything = false) {
    const height = parseFloat(getComputedStyle(table).getPropertyValue("--row"));
    body.style.height = `${height * shown.length}px`;
    const top = body.getBoundingClientRect().top;
    const first = everything ? 0 : Math.max(0, Math.floor(-top / height) - 6);
    // The first rows are there also where the overview fills the view: they are what the keyboard reaches next.
    const last = everything ? PRINTED : Math.max(12, Math.ceil((innerHeight - top) / height) + 6);
    table.classList.toggle("cut", everything && shown.length > PRINTED);
    for (const row of [...body.children]) {
      const index = Number(row.dataset.index);
      if ((index < first || index >= last) && !row.contains(document.activeElement)) row.remove();
    }
    let next = body.firstElementChild;
    for (let index = first; index < Math.min(last, shown.length); index++) {
      while (next && Number(next.dataset.index) < index) next = next.nextElementSibling;
      if (next && Number(next.dataset.index) === index) continue;
      const row = rowOf(index);
      row.style.transform = `translateY(${index * height}px)`;
      body.insertBefore(row, next);
    }
  }

  /** One record's row. */
  function rowOf(index) {
    const row = DATA.rows[shown[index]];
    const [path, rest] = row[CASE].split("[", 2);
    const status = STATUSES[row[STATUS]];
    const link = el("a", { href: linkTo(row), title: row[CASE] }, el("span", { class: "path" }, path));
    if (rest) link.append(el("span", { class: "labels" }, `[${rest}`));
    const cells = {
      status: [el("span", { "aria-hidden": "true" }, SYMBOLS[row[STATUS]]), ` ${status}`],
      kind: [DATA.kinds[row[KIND]]],
      case: [link],
      phrase: [row[PHRASE]],
      backend: DATA.runs[row[RUN]].name.split(", ").map((line) => el("span", { class: "path" }, line)),
      seconds: [row[SECONDS] === null ? "" : row[SECONDS].toFixed(4)],
    };
    const tr = el("tr", {
      role: "row", "aria-rowindex": index + 2, "data-index": index, "aria-current": shown[index] === current && "true",
    });
    for (const { key } of COLUMNS) {
      const look = key === "status" ? `status ${status}` : key;
      tr.append(el("td", { role: "cell", class: look, title: key === "phrase" && row[PHRASE] }, ...cells[key]));
    }
    return tr;
  }

  /** Scroll a row into view, and make it. */
  function reveal(index, block = "nearest") {
    const height = parseFloat(getComputedStyle(table).getPropertyValue("--row"));
    const top = body.getBoundingClientRect().top + index * height;
    const above = table.tHead.getBoundingClientRect().bottom;
    if (block === "center") scrollBy(0, top - innerHeight / 2);
    else if (top < above) scrollBy(0, top - above);
    else if (top + height > innerHeight) scrollBy(0, top + height - innerHeight);
    render();
    return body.querySelector(`[data-index="${index}"] a`);
  }

  table.tHead.rows[0].append(
    ...COLUMNS.map(({ key, label }) => {
      const button = el("button", { type: "button" }, label);
      button.addEventListener("click", () => {
        const ascending = (state.sort || "status") === key;
        refine({ sort: ascending ? `-${key}` : key });
      });
      return el("th", { role: "columnheader", scope: "col", class: key }, button);
    }),
  );

  body.addEventListener("click", (event) => {
    const link = event.target.closest("tr")?.querySelector("a");
    if (link && !event.target.closest("a") && !String(getSelection())) link.click();
  });

  body.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest("tr");
    if (!step || !row) return;
    event.preventDefault();
    const index = Math.min(Math.max(Number(row.dataset.index) + step, 0), shown.length - 1);
    reveal(index)?.focus({ preventScroll: true });
  });

  // ---------------------------------------------------------------- the controls

  const chips = STATUSES.map((status, index) => {
    const input = el("input", { type: "checkbox", value: status });
    const number = el("span", { class: "muted" });
    const symbol = el("span", { "aria-hidden": "true", class: status }, SYMBOLS[index]);
    input.addEventListener("change", () => {
      refine({ status: chips.filter((chip) => chip.input.checked).map((chip) => chip.input.value).join(",") });
    });
    byId("statuses").append(el("label", { class: "chip" }, input, symbol, status, number));
    return { input, number };
  });

  /** Fill a list of choices, and let it refine the state. */
  function choices(id, name, options) {
    byId(id).append(el("option", { value: "" }, "any"), ...options.map(([value, text]) => el("option", { value }, text)));
    byId(id).addEventListener("change", (event) => refine({ [name]: event.target.value }));
  }

  const met = new Set(DATA.rows.map((row) => row[KIND]));
  choices("kind", "verdict", DATA.kinds.filter((_, index) => met.has(index)).map((kind) => [kind, kind]));
  choices("topic", "topic", [...new Set(DATA.rows.map((row) => topicOf(row[CASE])))].sort().map((t) => [t, t]));
  choices("backend", "backend", DATA.runs.map(({ key, name }) => [key, name]));
  byId("backend-label").hidden = DATA.runs.length < 2;
  table.classList.toggle("several", DATA.runs.length > 1);
  byId("query").addEventListener("input", (event) => refine({ q: event.target.value }));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => refine(Object.fromEntries(FILTERS.map((name) => [name, ""]))));

  /** Let the controls say what the state is. */
  function showControls() {
    const wanted = (state.status || "").split(",");
    chips.forEach(({ input }) => (input.checked = wanted.includes(input.value)));
    if (byId("query").value !== (state.q || "")) byId("query").value = state.q || "";
    byId("kind").value = state.verdict || "";
    byId("topic").value = state.topic || "";
    byId("backend").value = state.backend || "";
    byId("clear").disabled = !FILTERS.some((name) => state[name]);
    for (const th of table.tHead.rows[0].cells) {
      const sorted = (state.sort || "status") === th.className ? "ascending" : null;
      const order = state.sort === `-${th.className}` ? "descending" : sorted;
      if (order) th.setAttribute("aria-sort", order);
      else th.removeAttribute("aria-sort");
    }
  }

  // ---------------------------------------------------------------- the panel

  const panel = byId("detail");
  let viewers = [];

  /** A list of names and values. */
  function pairs(entries, look = "") {
    return el("dl", { class: `pairs ${look}` }, ...entries.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  }

  /** A word for the shell, quoted where it must be: as Python's shlex does it. */
  const argument = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

  /** Copy a text; where the browser has no clipboard for the page, select it for the reader to copy. */
  async function copy(text, button, node) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      if (node) getSelection().selectAllChildren(node);
      button.textContent = node ? "Selected" : "Not copied";
    }
    setTimeout(() => (button.textContent = label), 1500);
  }

  /** A command with a button to copy it. */
  function command(text) {
    const code = el("pre", {}, text);
    return el("div", { class: "command" }, code, button("Copy", (made) => copy(text, made, code)));
  }

  /** A heading with what stands under it. */
  const part = (heading, ...children) => el("section", { class: "part" }, el("h3", {}, heading), ...children);

  /** Open, change or close the panel as the state says. */
  function showPanel() {
    const run = DATA.runs.findIndex(({ key }) => key === state.run);
    const named = (row) => row[CASE] === state.case && (run < 0 || row[RUN] === run);
    // A link without a run means the record that asks for attention.
    const found = state.case ? DATA.rows.flatMap((row, n) => (named(row) ? [n] : [])) : [];
    const next = found.sort((a, b) => DATA.rows[a][STATUS] - DATA.rows[b][STATUS])[0] ?? -1;
    if (next === current && !(state.case && next < 0)) return;
    const pressed = panel.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    const before = current;
    current = next;
    body.querySelector("[aria-current]")?.removeAttribute("aria-current");
    viewers.forEach((viewer) => viewer.remove());
    viewers = [];
    if (!state.case) return hidePanel(before);
    panel.replaceChildren(...(current < 0 ? absent() : contents(current)));
    document.body.classList.add("opened");
    if (!panel.open) narrow.matches ? panel.showModal() : panel.show();
    panel.scrollTop = 0;
    const index = shown.indexOf(current);
    if (index >= 0) reveal(index, before < 0 ? "center" : "nearest")?.closest("tr").setAttribute("aria-current", "true");
    const again = pressed && panel.querySelector(`.panel-bar [aria-label="${pressed}"]:enabled`);
    (again || byId("detail-head")).focus({ preventScroll: true });
    viewers.forEach((viewer) => viewer.draw());
  }

  /** Close the panel, and give the focus back to the record's row. */
  function hidePanel(before) {
    panel.close();
    document.body.classList.remove("opened");
    const index = shown.indexOf(before);
    if (index >= 0) reveal(index)?.focus({ preventScroll: true });
  }

  const close = () => go({ ...state, case: "", run: "" });
  /** Go to a state through the history. */
  const go = (values) => (location.hash = fragment(values));

  /** What the panel says of a case that no run has. */
  function absent() {
    return [
      el("div", { class: "panel-bar" }, el("span", { class: "place" }), button("Close", close)),
      el("h2", { id: "detail-head", tabindex: -1 }, state.case),
      el("p", { class: "told" }, "No record of this report has this id."),
    ];
  }

  /** The panel's bar: where the record stands among those shown, its neighbours, its link. */
  function bar(n) {
    const index = shown.indexOf(n);
    const neighbour = (arrow, name, to) =>
      button(arrow, () => (location.hash = linkTo(DATA.rows[shown[to]])),
        { "aria-label": name, title: name, disabled: index < 0 || !(to in shown) });
    const place = index < 0 ? "not among the records shown" : `${count(index + 1)} of ${count(shown.length)}`;
    return el("div", { class: "panel-bar" },
      el("span", { class: "place" }, place), neighbour("←", "Previous record", index - 1), neighbour("→", "Next record", index + 1),
      button("Copy link", (made) => copy(location.href, made)), button("Close", close));
  }

  /** Everything about one record. */
  function contents(n) {
    const row = DATA.rows[n];
    const [run, detail, status] = [DATA.runs[row[RUN]], row[DETAIL], STATUSES[row[STATUS]]];
    const [path, rest] = row[CASE].split("[", 2);
    const head = el("h2", { id: "detail-head", tabindex: -1 }, el("span", {}, path));
    if (rest) head.append(el("span", { class: "labels" }, `[${rest}`));
    const said = el("p", { class: "said" },
      el("strong", { class: status }, `${SYMBOLS[row[STATUS]]} ${status}`), ` ${DATA.kinds[row[KIND]]}, ${run.name}`);
    const corpus = run.cases ? ` --cases ${argument(run.cases)}` : "";
    const figures = [...(detail.figures ?? [["what came of it", row[PHRASE]]])];
    if (detail.reason) figures.push(["so judged because", detail.reason]);
    if (detail.why) figures.push(["explained", detail.why]);
    if (detail.harmed) figures.push(["died of", detail.harmed]);
    if (detail.tolerance) figures.push(["allowed", detail.tolerance]);
    if (row[SECONDS] !== null) figures.push(["seconds", String(row[SECONDS])]);
    return [
      bar(n), head, said, part("Verdict", pairs(figures)),
      ...(detail.readings ?? []).length ? [readings(detail.readings, run)] : [],
      ..."waiver" in detail ? [waiver(DATA.waivers[detail.waiver])] : [],
      ...(detail.prose ?? []).map(([heading, text]) => part(heading, el("pre", { tabindex: 0 }, text))),
      ...arrays(n, detail),
      ...detail.call ? [call(detail.call, run)] : [],
      part("Reproduce",
        command(`tconv run ${argument(row[CASE])} --backend ${argument(run.backend)} --dialect ${argument(run.dialect)}${corpus}`),
        command(`tconv show ${argument(row[CASE])}${corpus}`)),
    ];
  }

  /** The readings that the backend follows, each with its words and whom it cites. */
  function readings(names, run) {
    const known = DATA.readings[run.dialect] ?? {};
    const parts = [...new Set(names.flatMap((name) => name.split(" + ")))];
    return part("Readings followed", pairs(parts.map((name) => {
      const [says, cites] = known[name] ?? ["", ""];
      return [name, cites ? `${says} (${cites})` : says];
    })));
  }

  /** A waiver; its link is one only where the report found it to be an address of the web. */
  function waiver(facts) {
    const told = ["because", "clause", "cases", "verdict", "dialects", "versions", "date"].map((name) => [name, facts[name]]);
    told.push(["example", el("a", { href: fragment({ case: facts.example }) }, facts.example)]);
    if (facts.href) told.push(["link", el("a", { href: facts.href, rel: "noopener noreferrer" }, facts.href)]);
    else if (facts.link) told.push(["link", facts.link]);
    return part(`Waiver: ${facts.name}`, pairs(told));
  }

  /** The call in the dialect's words. */
  function call(said, run) {
    const inputs = el("table", { class: "inputs" },
      el("thead", {}, el("tr", {}, ...["input", "shape", "type"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...said.inputs.map((cells) =>
        el("tr", {}, ...cells.map((cell, k) => (k ? el("td", { class: "mono" }, cell) : el("th", { scope: "row" }, cell)))))));
    const layouts = `data ${said.layouts[0]}, filter ${said.layouts[1]}`;
    const attributes = said.attributes.length ? said.attributes : [["attributes", "none"]];
    return part(`Call, ${run.dialect}`, pairs([...attributes, ["layouts", layouts]], "mono"), inputs);
  }

  // ---------------------------------------------------------------- the arrays

  /** The parts of the panel that show arrays, and what is told in place of those that are not there. */
  function arrays(n, detail) {
    const block = byId(`arrays-${n}`);
    if (!block) return [];
    const { told, arrays: packed, wrong } = JSON.parse(block.textContent);
    const found = Object.fromEntries(Object.entries(packed).map(([name, array]) => [name, Heatmap.grid(array)]));
    const operands = ["x", "w", "b"].filter((name) => found[name]);
    const values = part("Values, in NCX", ...told.map(remark), ...compared(found, wrong, detail));
    if (operands.length) values.append(operandsOf(found, operands));
    else if (found.expected) values.append(remark(`The operands are not on this page. The artifact is ${detail.artifact}.`));
    return [values];
  }

  /** A sentence about the arrays. */
  const remark = (sentence) => el("p", { class: "told" }, sentence);
  /** An array with its shape in its title. */
  const titled = (title, grid) => ({ title: `${title} [${grid.shape.join(", ")}]`, grid });

  /** Make a viewer that is drawn when the panel is. */
  function viewer(options) {
    const made = new Heatmap.Viewer(options);
    viewers.push(made);
    return made;
  }

  /** The operands, folded away until they are asked for. */
  function operandsOf(found, names) {
    const axes = { x: ["batch", "channel"], w: ["in", "out"], b: [] };
    const views = names.map((name) => viewer({ names: axes[name], panes: [titled(name, found[name])] }).element);
    const summary = el("summary", {}, `Operands ${names.join(", ")}, the filter in IOX`);
    const folded = el("details", {}, summary, el("div", { class: "beside" }, ...views));
    folded.addEventListener("toggle", () => viewers.forEach((view) => view.draw()));
    return folded;
  }

  /** Expected, actual and difference side by side; without a difference where there can be none. */
  function compared(found, wrong, detail) {
    const { expected, actual, difference, allowed } = found;
    const names = ["batch", "channel"];
    if (difference) {
      const marks = Heatmap.bits(wrong, expected.values.length);
      const panes = [
        { title: "expected", grid: expected },
        { title: "actual", grid: actual },
        { title: "difference, actual - expected", grid: difference, diverging: true },
      ];
      return [...surplus(marks, detail), viewer({ names, panes, wrong: marks, allowed }).element];
    }
    const single = [["expected", expected], ["actual", actual]].filter(([, grid]) => grid);
    const range = Heatmap.rangeOf(single.map(([, grid]) => grid));
    const said = [];
    if (expected && actual) said.push(remark("The shapes differ, so there is no difference to draw."));
    else if (expected) said.push(remark("There are no actual values to draw beside these."));
    const views = single.map(([title, grid]) => viewer({ names, range, panes: [titled(title, grid)] }).element);
    return [...said, el("div", { class: "beside" }, ...views)];
  }

  /** The page marks all that is not allowed; what the judge excused is said to be among it. */
  function surplus(marks, detail) {
    const judged = parseInt(detail.figures?.find(([name]) => name === "wrong")?.[1], 10);
    const marked = marks.reduce((sum, mark) => sum + mark, 0);
    if (Number.isNaN(judged) || judged === marked) return [];
    return [remark(
      `${count(marked)} elements are marked, of which ${count(judged)} count as wrong: the others are told and not failed ` +
        "(flushed subnormals, NaN from inserted zeros, an infinity that may overflow).",
    )];
  }

  // ---------------------------------------------------------------- the whole

  const theme = byId("theme");

  /** Follow the reader's choice of colours, or the system's. */
  function colours(choice) {
    if (choice) document.documentElement.dataset.theme = choice;
    else delete document.documentElement.dataset.theme;
    theme.value = choice;
    viewers.forEach((view) => view.draw());
  }

  /** Remember or recall the choice; a page from a file may have no storage. */
  function stored(choice) {
    try {
      if (choice !== undefined) localStorage.setItem("tconv-theme", choice);
      return localStorage.getItem("tconv-theme") ?? "";
    } catch {
      return choice ?? "";
    }
  }

  /** Let the page be what the address says. */
  function follow() {
    state = parse(location.hash);
    show();
    showControls();
    showPanel();
  }

  theme.closest("label").hidden = false;
  theme.addEventListener("change", () => colours(stored(theme.value)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => viewers.forEach((view) => view.draw()));
  colours(stored());

  panel.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && panel.open && !event.defaultPrevented) close();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("records").scrollIntoView();
    byId("records").focus();
  });
  for (const link of document.querySelectorAll('.run a[href^="#"], .matrix a[href^="#"]')) {
    link.addEventListener("click", () => byId("records").scrollIntoView());
  }
  let drawing = 0;
  const rendered = () => (drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    render();
  }));
  addEventListener("scroll", rendered, { passive: true });
  addEventListener("resize", () => {
    body.replaceChildren();
    rendered();
  });
  addEventListener("beforeprint", () => {
    render(true);
    viewers.forEach((view) => view.draw());
  });
  addEventListener("afterprint", () => {
    rendered();
    viewers.forEach((view) => view.draw());
  });
  addEventListener("hashchange", follow);
  new ResizeObserver(([{ target }]) => {
    document.documentElement.style.setProperty("--bar", `${target.offsetHeight}px`);
  }).observe(byId("filters"));
  byId("records").hidden = false;
  follow();
})();
