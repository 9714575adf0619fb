import { byId } from "../page/elements.js";
import { portForm, questionDrawing } from "./port.js";

/*
 * The atlas's script: it fills the places that atlas.html.j2 has for it.
 */

/** @import { AtlasData } from "./port.js" */

/** @type {AtlasData} */
const atlasData = JSON.parse(byId("atlas-data", HTMLScriptElement).textContent);
portForm(byId("port", HTMLElement), atlasData);
for (const place of document.querySelectorAll("[data-question]")) {
  if (place instanceof HTMLElement && place.dataset.question) questionDrawing(place, place.dataset.question, atlasData);
}
