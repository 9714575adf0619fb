/*
 * The text of a bug report, in Markdown, of what the page knows of a case.
 */

/** @import { CaseView } from "./case_view.js" */

/**
 * @param {CaseView} view
 */
export function issueText(view) {
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

/**
 * @param {string} heading
 * @param {string[]} lines
 */
function chapter(heading, lines) {
  const written = lines.filter(Boolean);
  return written.length > 0 ? `## ${heading}\n\n${written.join("\n")}` : "";
}

/** @param {NonNullable<CaseView["call"]>} call */
function callLines({ attributes, inputs, layouts }) {
  return [
    ...inputs.map(([name, shape, type]) => `- input ${name}: ${type} ${shape}`),
    ...attributes.map(([name, value]) => `- ${name}: ${value}`),
    `- layouts: data ${layouts[0]}, filter ${layouts[1]}`,
  ];
}
