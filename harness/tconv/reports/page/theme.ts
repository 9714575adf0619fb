import { byId } from "./elements.js";

// The colours: as the system has them, or as the reader chose.

const KEY = "tconv-theme";

/** Follow the choice of colours; `redraw` draws what has colours of its own. */
export function followTheme(redraw: () => void) {
  const list = byId("theme", HTMLSelectElement);
  const show = (choice: string) => {
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

function store(choice: string) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // The choice is for this view of the page alone.
  }
}
