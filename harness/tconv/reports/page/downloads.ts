import { el } from "./elements.js";
import type { PageData } from "./page_data.js";

// The records that a filter leaves, as a file.

const NAMES = ["case", "backend", "dialect", "status", "verdict", "cause", "detail", "seconds"] as const;

export function download(data: PageData, shown: Uint32Array, kind: "csv" | "jsonl") {
  const rows = Array.from(shown, (number) => {
    const { id, run, status, kind: verdict, cause, phrase, seconds } = data.record(number);
    return [id, run.title, run.dialect, status, verdict, data.causes[cause - 1]?.words ?? "", phrase, seconds];
  });
  const asObject = (row: unknown[]) => JSON.stringify(Object.fromEntries(row.map((value, at) => [NAMES[at], value])));
  const asLine = (row: readonly unknown[]) =>
    row.map((value) => `"${String(value ?? "").replaceAll('"', '""')}"`).join();
  const lines = kind === "csv" ? [NAMES, ...rows].map(asLine) : rows.map(asObject);
  const href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/plain" }));
  el("a", { href, download: `records.${kind}` }).click();
  URL.revokeObjectURL(href);
}
