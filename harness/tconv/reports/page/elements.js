/*
 * What the other scripts make elements with. The page's data is text of others: it gets into the page here, as text and
 * attributes only, never as markup.
 */

/**
 * Make an element.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | null>} [attributes] true for a bare one; null and false for none
 * @param {(Node | string)[]} children
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** How much larger than on a usual screen things are drawn: the style sheet makes the letters larger on a very wide one. */
export const enlargement = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

/** @param {string} sentence */
export const note = (sentence) => el("p", { class: "note" }, sentence);

/**
 * The element of that id, which page.html.j2 has.
 *
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new TypeError(`the page must have a ${kind.name} with the id ${id}`);
  return element;
}

/**
 * @param {string} label
 * @param {() => void} act
 * @param {Record<string, string | number | boolean | null>} [attributes]
 */
export function button(label, act, attributes = {}) {
  const made = el("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

/**
 * A button that copies a text. Where the browser has no clipboard for the page, it selects the text for the reader to
 * copy, if there is an element that shows it.
 *
 * @param {string} label
 * @param {() => string} text
 * @param {Node} [shown]
 */
export function copyButton(label, text, shown) {
  const made = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text());
      made.textContent = "Copied";
    } catch {
      if (shown) getSelection()?.selectAllChildren(shown);
      made.textContent = shown ? "Selected" : "Not copied";
    }
    setTimeout(() => {
      made.textContent = label;
    }, 1500);
  });
  return made;
}
