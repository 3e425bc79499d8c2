import { knfCodes } from "../../../../api/knf/knf-codes.ts";
import type { Explanation } from "./explain.ts";

const retries = {
  change:
    "Looked at again when the component, the ClusterProfile or a file changes, and every 10 s by default.",
  backoff:
    "Tried again by itself after 5 ms doubling to 5 minutes, and at once when something changes.",
  poll: "Looked at again at a fixed pace.",
} as const;

const blanks = " (put names of yours in place of NAME, NAMESPACE and TYPE)";

function hasBlanks(causes: Explanation["causes"]): boolean {
  return causes.some(({ command }) => /\b(?:NAME|NAMESPACE|TYPE)\b/.test(command));
}

/** An explanation for people. */
export function explanationText(one: Explanation): string {
  const {
    name,
    title,
    code,
    reasons,
    type,
    condition,
    setBy,
    meaning,
    retry,
    causes,
    next,
    upstream,
  } = one;
  const place = condition === null ? type : `${type}, condition ${condition}`;
  const lines = [
    `${name}${title === null ? "" : ` ${title}`} (${place})`,
    `  ${meaning}`,
    `  Set by: ${setBy}.`,
    ...(code === null ? [] : [`  Number: ${code} ${knfCodes[code].name}`]),
    ...(reasons.length === 0 ? [] : [`  Reasons with this number: ${reasons.join(", ")}`]),
    ...(retry === null ? [] : [`  Retry: ${retries[retry]}`]),
    ...(causes.length === 0 ? [] : [`  Likely causes${hasBlanks(causes) ? blanks : ""}:`]),
    ...causes.flatMap(({ cause, command }, at) => [`    ${at + 1}. ${cause}`, `       ${command}`]),
    ...(next === null ? [] : [`  What to do: ${next}`]),
    ...(upstream === null
      ? []
      : [
          `  From the upstream operator (${upstream.versions}): ${upstream.means}`,
          ...upstream.not.map((text) => `    ${text}`),
        ]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}
