import type { CaseView } from "./case_view.js";

// The text of a bug report, in Markdown, of what the page knows of a case.

export function issueText(view: CaseView) {
  const { id, dialect, why, call, geometry, figures, commands, versions, answers } = view;
  const others = answers.filter(({ current }) => !current);
  const parts = [
    `# ${view.backend}: ${why.sentence}`,
    `Case \`${id}\` of ${dialect}.`,
    why.explanation,
    chapter("What the text says", [why.clause]),
    chapter("Call", call ? callLines(call) : []),
    chapter(
      "What is owed",
      geometry ? [`spatial sizes ${geometry.output.join(" x ")}, pads_begin ${geometry.pads_begin.join(", ")}`] : [],
    ),
    chapter(
      "What came",
      figures.map(([name, value]) => `- ${name}: ${value}`),
    ),
    chapter(
      "Others",
      others.map(({ run, dialect: words, kind, status, said }) => `- ${run}, ${words}: ${status}, ${kind}. ${said}`),
    ),
    chapter(
      "Versions",
      versions.map(([name, value]) => `- ${name}: ${value}`),
    ),
    chapter("To see it again", [
      "```sh",
      ...commands.filter(([name]) => name !== "bug report").map(([, text]) => text),
      "```",
    ]),
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function chapter(heading: string, lines: string[]) {
  const written = lines.filter(Boolean);
  return written.length > 0 ? `## ${heading}\n\n${written.join("\n")}` : "";
}

function callLines({ attributes, inputs, layouts }: NonNullable<CaseView["call"]>) {
  return [
    ...inputs.map(([name, shape, type]) => `- input ${name}: ${type} ${shape}`),
    ...attributes.map(([name, value]) => `- ${name}: ${value}`),
    `- layouts: data ${layouts[0]}, filter ${layouts[1]}`,
  ];
}
