import { describe, expect, test } from "vitest";

import { keyOf } from "../../../../cmd/kubectl/page/fleet-view.ts";
import {
  nextCommands,
  type Route,
  routeOf,
} from "../../../../cmd/kubectl/page/installation-view.ts";
import { itemOf } from "./sample-items.ts";

const fleet: Route = { page: "fleet" };

describe("an address", () => {
  test.each<[hash: string, route: Route]>([
    ["", fleet],
    ["#/", fleet],
    ["#/nothing", fleet],
    ["#/installation/KnativeServing/a", fleet],
    ["#/installation/KnativeServing/a/b/c", fleet],
    ["#/installation/KnativeServing/a/%E0%A4%A", fleet],
    ["#/installation/KnativeServing//b", fleet],
    ["#/cluster/a", fleet],
    ["#/cluster/a/b/c", fleet],
    ["#/cluster/a/", fleet],
  ])("%j is the fleet", (hash, route) => {
    expect(routeOf(hash)).toEqual(route);
  });

  test.each(["b", "a/b", "<img src=x>", "%2F", "ü", "#"])("names an installation %j", (name) => {
    const key = keyOf(itemOf({ name }));
    expect(routeOf(`#/installation/${key}`)).toEqual({ page: "installation", key });
  });
});

test("an address names a cluster", () => {
  expect(routeOf("#/cluster/fleet/eu-1")).toEqual({ page: "cluster", key: "fleet/eu-1" });
});

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
