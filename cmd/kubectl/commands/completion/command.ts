import { agreementFlag } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";

/** `completion`: lets kubectl complete this command. */
export const completion = command({
  name: "completion",
  args: { usage: "kubectl|install [...]", completes: "completions" },
  summary: "Let kubectl complete this command in your shell",
  text: "Completes commands, flags, installations, ClusterProfiles, namespaces, contexts and reasons. kubectl itself completes\n`kubectl knfleet` with the help of a program kubectl_complete-knfleet on the PATH: `kubectl` prints it, `install` puts it beside the plugin.\nNames that the hub does not tell within a second (KNFLEET_COMPLETION_TIMEOUT) are not offered.",
  examples: [
    [
      "kubectl knfleet completion install",
      "for kubectl knfleet, in every shell that completes kubectl",
    ],
    [
      "kubectl knfleet completion kubectl > ~/bin/kubectl_complete-knfleet",
      "the same by hand; then chmod +x",
    ],
  ],
  options: { yes: agreementFlag("with install: replace a file that is there") },
  asksNobody: true,
  run: async (fleet, { yes }) => (await import("./completion.ts")).completionProgram(fleet, yes),
});
