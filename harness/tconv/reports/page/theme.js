import { byId } from "./elements.js";

/*
 * The colours: as the system has them, or as the reader chose.
 */

const KEY = "tconv-theme";

/** @param {() => void} redraw draws what has colours of its own */
export function followTheme(redraw) {
  const list = byId("theme", HTMLSelectElement);
  /** @param {string} choice */
  const show = (choice) => {
    if (choice) document.documentElement.dataset.theme = choice;
    else delete document.documentElement.dataset.theme;
    list.value = choice;
    redraw();
  };
  list.closest("label")?.removeAttribute("hidden");
  list.addEventListener("change", () => {
    store(list.value);
    show(list.value);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  show(stored());
}

/** The choice that was stored; a page from a file may have no storage. */
function stored() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} choice */
function store(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // The choice is for this view of the page alone.
  }
}
