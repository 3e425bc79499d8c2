import { command } from "../../main/command.ts";

/** `explain`: the meaning of a reason or a code. */
export const explain = command({
  name: "explain",
  args: {
    usage: "[REASON | CODE...]",
    completes: "reasons",
    tool: {
      name: "words",
      text: "Reasons such as ApplyFailed, or KNF numbers such as KNF1005",
      isRequired: true,
    },
  },
  summary: "Say what a reason or code means, without any cluster",
  text: "What a reason of a condition, a code in brackets, a KNF number, a word in the status of a fleet set or a reason of this program means, who sets it,\nlikely causes and what to do; and what the same word means, and does not mean, when the upstream Knative Operator wrote it. Without a word: all of them.",
  examples: [
    ["kubectl knfleet explain AccessProviderFailed", "a reason"],
    ["kubectl knfleet explain KNF1005", "a finding of diagnose"],
    ["kubectl knfleet explain SuspiciousShrink", "a word of a fleet set"],
    ["kubectl knfleet explain", "all words"],
    ["kubectl knfleet explain CredentialRejected -o json", "for runbooks"],
  ],
  options: {},
  document: "Explanation",
  tool: [],
  pages: "always",
  asksNobody: true,
  run: async (fleet) => (await import("./explain-report.ts")).explainWords(fleet),
});
