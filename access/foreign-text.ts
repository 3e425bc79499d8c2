// Sequences that move a terminal's cursor, colour it, set its title, or write to its clipboard.
// oxlint-disable-next-line no-control-regex -- they are what is taken out
const titles = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?/g;
// oxlint-disable-next-line no-control-regex -- they are what is taken out
const sequences = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g;
// What turns the order of letters round, or cannot be seen.
const unseen = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
// oxlint-disable-next-line no-control-regex -- they are what is taken out
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;
const longest = 1_024;

/**
 * A text that a server chose, fit for one line of a terminal, a log or a condition: without control characters and
 * sequences, and cut to 1,024 characters unless `max` says otherwise. Spec: security.md T-51.
 */
export function foreignText(text: string, max: number = longest): string {
  return (
    text
      // What is cut away later need not be looked at; a sequence may be long.
      .slice(0, 4 * Math.max(max, longest))
      .replace(titles, "")
      .replace(sequences, "")
      .replace(unseen, "")
      .replace(control, " ")
      .trim()
      .slice(0, max)
      .toWellFormed()
  );
}
