import type { CommandEntry } from "../../command-entry.ts";

/** `explain` on the command line. */
export function explainEntry(): CommandEntry {
  return {
    name: "explain",
    args: "[REASON | CODE...]",
    summary: "Say what a reason or code means, without any cluster",
    text: "What a reason of a condition, a code in brackets, a KNF number or a reason of this program means, who sets it, likely causes and what\nto do; and what the same word means, and does not mean, when the upstream Knative Operator wrote it. Without a word: all of them.",
    examples: [
      ["kubectl knfleet explain AccessProviderFailed", "a reason"],
      ["kubectl knfleet explain KNF1005", "a finding of diagnose"],
      ["kubectl knfleet explain", "all words"],
      ["kubectl knfleet explain CredentialRejected -o json", "for runbooks"],
    ],
    options: [],
    kind: "Explanation",
    pages: "always",
    completes: "reasons",
    load: async () => (await import("./explain-action.ts")).runExplain,
  };
}
