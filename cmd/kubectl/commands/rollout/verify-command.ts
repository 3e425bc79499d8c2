import { worded } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";
import { toolSchema } from "../../main/tool-arguments.ts";

const declared = command({
  name: "rollout verify",
  args: { usage: "SET", completes: "sets" },
  summary: "Ask the checks of a set now",
  text: `Asks each cluster of a set the checks of its stage (rollout.verify) once, from this machine and by the credential path of the clusters. --on and --cluster ask some of\nthem. A workload counts as newly broken when it broke since the set last changed its cluster; where the set has changed nothing yet, none counts. The rollout is not\ntouched, and how long an answer has to be good does not matter. No Job is run: it says how the Job ended that the rollout ran.\nThe exit code is 0 when every answer is good, 1 when one is bad, 3 when a check could not be asked.\nA set is kss/NAME or kes/NAME, in the namespace of the context or of -n.`,
  examples: [
    ["kubectl knfleet rollout verify kss/prod -n platform", "all clusters of the set"],
    ["kubectl knfleet rollout verify kss/prod --on ring=0", "some clusters"],
    ["kubectl knfleet rollout verify kss/prod --stage canary -o json", "one stage, for scripts"],
  ],
  options: { stage: worded("--stage <name>", "only the clusters of this stage") },
  document: "RolloutVerification",
  needsFleet: "checks are asked of the clusters as they are now",
  run: async (fleet, { stage }) =>
    (await import("./verify-rollout.ts")).verifyRollout(fleet, stage),
});

/** `rollout verify`: asks the checks of a set now. */
export const rolloutVerify = {
  ...declared,
  tool: toolSchema(["set", "namespace", "stage", "cluster", "on"], ["set", "namespace"]),
};
