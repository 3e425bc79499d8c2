import { describe, expect, test } from "vitest";

import { conditionLines, nextCommands } from "../../../../cmd/kubectl/page/installation-view.ts";
import { itemOf } from "./sample-items.ts";

describe("next commands", () => {
  const beginning = { knfleet: "kubectl knfleet --context hub", isRecorded: false };
  const commandsOf = (given: Parameters<typeof itemOf>[0], isRecorded = false) =>
    nextCommands(itemOf(given), { ...beginning, isRecorded }).map(({ command }) =>
      command.replace(beginning.knfleet, "…"),
    );

  test("of what is wrong begin with the diagnosis", () => {
    expect(commandsOf({ severity: "error", reason: "ApplyFailed" })).toEqual([
      "… diagnose ks/knative-serving -n team-a",
      "kubectl knfleet explain ApplyFailed",
      "… status ks/knative-serving -n team-a",
      "… logs ks/knative-serving -n team-a",
      "… diff ks/knative-serving -n team-a",
      "… connect fleet/spoke-1",
    ]);
  });

  test("of what is well have none", () => {
    expect(commandsOf({ kind: "KnativeEventing" })[0]).toBe(
      "… status ke/knative-serving -n team-a",
    );
  });

  test("lead to no cluster where there is none", () => {
    for (const commands of [commandsOf({ cluster: null }), commandsOf({}, true)]) {
      expect(commands.join()).not.toContain("connect");
    }
  });

  test("are safe to paste, whatever a name holds", () => {
    const [command] = commandsOf({ name: "$(rm -rf ~)'; x\u202e", severity: "error" });
    expect(command).toBe(String.raw`… diagnose 'ks/$(rm -rf ~)'\''; x' -n team-a`);
  });
});

function condition(type: string, status: string, message: string | null) {
  return { type, status, reason: null, code: null, message, since: null };
}

test("conditions that say the same are one line, and good ones lines of their own", () => {
  const lines = conditionLines([
    condition("Ready", "False", "The server refused it"),
    condition("AnchorProtected", "True", null),
    condition("InstallSucceeded", "False", "The server refused it"),
    condition("TargetClusterResolved", "True", null),
    condition("Stalled", "True", "The server refused it"),
    condition("Paused", "True", ""),
    condition("Reconciling", "True", ""),
  ]);
  expect(lines.map(({ types }) => types.join())).toEqual([
    "Ready,InstallSucceeded",
    "AnchorProtected",
    "TargetClusterResolved",
    "Stalled",
    "Paused",
    "Reconciling",
  ]);
});
