"use strict";

/* What both other scripts make elements with. Text of others reaches the page here, as text and attributes only. */

/**
 * Make an element.
 * @param {string} tag
 * @param {Object<string, ?(string|number|boolean)>} attributes true for a bare one; null and false for none
 * @param {...(Node|string)} children
 */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** A button that does something. */
function button(label, act, attributes = {}) {
  const made = el("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", () => act(made));
  return made;
}

/** A number as a reader likes it. */
const count = (n) => n.toLocaleString("en");
