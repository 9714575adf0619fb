// What the other scripts make elements with. The page's data is text of others: it gets into the page here, as text and
// attributes only, never as markup.

/** Make an element; true is for a bare attribute, null and false for none. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string | number | boolean | null> = {},
  ...children: (Node | string)[]
) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** How much larger than on a usual screen things are drawn: on a very wide one the style sheet makes letters larger. */
export const enlargement = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

export const note = (sentence: string) => el("p", { class: "note" }, sentence);

/** A text that is folded behind slashes and commas; its parts stay whole if they fit. */
export const foldable = (text: string) => text.split(/(?<=[/,])/u).map((part) => el("span", {}, part));

/** The element of that id, which page.html.j2 has. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new TypeError(`the page must have a ${kind.name} with the id ${id}`);
  return element;
}

export function button(
  label: string,
  act: () => void,
  attributes: Record<string, string | number | boolean | null> = {},
) {
  const made = el("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

/** A button that copies a text. If the page has no clipboard, it selects the element that shows the text, if any. */
export function copyButton(label: string, text: () => string, shown?: Node, name = label) {
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
  made.ariaLabel = name;
  return made;
}
