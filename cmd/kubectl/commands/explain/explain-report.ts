import { knfCodes } from "../../../../api/knf/knf-codes.ts";
import { explain, explainable, type Explanation } from "../../findings/words/explain.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { type Columns, shortened } from "../../output/columns.ts";

/** What the words of the arguments mean, or all words. Asks no server and reads no file. */
export function explainWords({ args, flags }: Pick<Fleet, "args" | "flags">): Report<Explanation> {
  const words = args.length === 0 ? explainable() : args;
  const items = words.flatMap(explain);
  const unknown = words.filter((word) => explain(word).length === 0);
  return {
    items,
    summary: { total: items.length },
    errors: unknown.map((word) => {
      return { reason: "NotFound", code: null, message: unknownText(word), cluster: null };
    }),
    ...(args.length > 0 && flags.output === "table"
      ? { heading: (_, sorted) => explanationsText(sorted) }
      : { columns }),
    name: ({ name }) => name,
  };
}

function unknownText(word: string): string {
  const similar = nearest(word, explainable());
  const hint = similar === undefined ? "" : `; did you mean ${similar}?`;
  return `Nobody here says "${word}"${hint}`;
}

const columns: Columns<Explanation> = {
  NAME: ({ name }) => name,
  TYPE: ({ type }) => type,
  CONDITION: shortened(({ condition }) => condition),
  MEANING: shortened(({ meaning }) => meaning),
};

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

/** Explanations as text. A reason and its number mostly have one step, which is told once. */
function explanationsText(items: readonly Explanation[]): string {
  const told = new Set<string | null>();
  const texts = items.map((one) => {
    const text = explanationText(told.has(one.next) ? { ...one, next: null } : one);
    told.add(one.next);
    return text;
  });
  return texts.join("\n");
}

/** An explanation as text. */
function explanationText(one: Explanation): string {
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

/** The most similar word; undefined when more than a third of its letters differ. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const wanted = word.toLowerCase().slice(0, 100);
  const ranked = words
    .map((candidate) => ({ candidate, distance: distance(wanted, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.max(2, wanted.length / 3)
    ? best.candidate
    : undefined;
}

/** Letters to insert, leave out or replace (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let at = 0; at < from.length; at += 1) {
    const next = [at + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (to[column - 1] === from[at] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
