// The script of a site of tconv. A folder whose site.js begins with this line is such a site.
// Search in all pages, and the answer to "I have this call". Data come from index.js and calls.js, so that file:// works.
(() => {
  "use strict";
  const up = document.body.dataset.up;
  const element = (name, text, href) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (href) made.href = up + href;
    return made;
  };
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const plain = (text) => text.toLowerCase().replace(/[-_]/g, " ");
  const look = () => {
    const words = plain(search.value).split(/\s+/).filter(Boolean);
    const count = (text) => words.filter((word) => plain(text).includes(word)).length;
    // Words of the title count most, then words of the kind; a short title has little else.
    const hits = window.TCONV.index
      .map((page) => [count(page[0]), count(`${page[0]} ${page[1]}`), -page[0].length, page])
      .filter(([, all]) => all)
      .sort((a, b) => b[0] - a[0] || b[1] - a[1] || b[2] - a[2]);
    found.replaceChildren(
      ...hits.slice(0, 30).map(([, , , [title, kind, address]]) => {
        const item = element("li", "");
        item.append(element("a", title, address), ` ${kind}`);
        return item;
      }),
    );
    if (words.length && !hits.length) found.append(element("li", "Nothing has these words. Try \"I have this call\"."));
    found.hidden = !words.length;
  };
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") search.value = "";
    if (event.key === "Enter") found.querySelector("a")?.click();
    look();
  });
  const form = document.getElementById("call");
  if (!form) return;
  const { fields, few, runs, calls, questions } = window.TCONV.calls;
  const answer = () => {
    const chosen = fields.map((name) => form.elements[name].value);
    const like = calls.filter(([words]) => chosen.every((value, at) => !value || words[at] === value));
    const rows = runs.map(([name, address, pads], at) => {
      const of = { right: 0, allowed: 0, differs: 0, refuses: 0, crashes: 0 };
      for (const [, counts] of like) {
        for (const [word, count] of Object.entries(counts[at] ?? {})) of[word] = (of[word] ?? 0) + count;
      }
      const good = of.right + of.allowed;
      const judged = good + of.differs + of.refuses + of.crashes;
      const none = of.unsupported ? "not implemented" : of.impossible ? (pads && (form.elements.mode.value || form.elements.size.value) ? "write the pads" : "cannot be written") : "not asked";
      const wrong = of.crashes ? "crashes" : !of.differs ? "refuses" : good ? "part" : "no";
      const mark = !judged ? "unsupported" : good === judged ? "yes" : wrong;
      const says = { unsupported: none, yes: "✓ yes", crashes: "‼ may crash or hang", part: "~ some are wrong", refuses: good ? "⊘ some are refused" : "⊘ refused", no: "✗ no" }[mark];
      const words = judged && judged < few ? `${says}, but few calls are like it` : says;
      const said = Object.keys(of).filter((word) => of[word]).map((word) => `${of[word]} ${word}`).join(", ");
      const row = element("tr", "");
      row.dataset.judged = judged ? "yes" : "no";
      const head = element("th", "");
      head.scope = "row";
      head.append(element("a", name, address));
      const cell = element("td", words);
      cell.className = mark;
      row.append(head, cell, element("td", said));
      return row;
    });
    // Those that have an answer come first.
    const is = (judged) => rows.filter((row) => row.dataset.judged === judged);
    document.querySelector("#made tbody").replaceChildren(...is("yes"), ...is("no"));
    document.getElementById("made").hidden = !like.length;
    document.getElementById("asked").textContent = like.length
      ? `${chosen.filter(Boolean).length} of ${fields.length} are chosen.`
      : "No recorded call is like this one. Set some choices to any.";
    const touches = ([, , where]) => Object.entries(where).every(([name, values]) => values.includes(form.elements[name]?.value));
    document.getElementById("touched").replaceChildren(
      ...questions.filter(touches).map(([title, address]) => {
        const item = element("li", "");
        item.append(element("a", title, address));
        return item;
      }),
    );
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", `#${query}`);
  };
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (fields.includes(name)) form.elements[name].value = value;
  }
  form.addEventListener("change", answer);
  answer();
})();
