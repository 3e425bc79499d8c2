import { expect, test } from "vitest";

import { setLabels } from "../../../api/fleet-set.ts";
import { setId } from "../../../api/keys.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { type HubLists, viewOfLists } from "../../../controller/sets/hub-view.ts";
import { SetWorld } from "../../sets/set-world.ts";

const { set: example } = new SetWorld({}, []);

const setOf = (name: string, more: object = {}) => ({
  ...example,
  metadata: { ...example.metadata, name, uid: name, ...more },
});

function revisionOf(set: string): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      namespace: "fleet",
      name: `${set}-1`,
      uid: set,
      resourceVersion: "1",
      labels: { [setLabels.kind]: "KnativeServingSet", [setLabels.set]: set },
    },
  };
}

/** A view of a hub on which every set selects the cluster `eu`. */
function viewOf(lists: Partial<HubLists>) {
  const clusters = [{ namespace: "fleet", name: "eu" }];
  return viewOfLists({
    sets: [],
    components: [],
    revisions: [],
    profiles: new Map(),
    selectionOf: () => ({ kind: "clusters", clusters }),
    policy: undefined,
    refusals: new Map(),
    ...lists,
  });
}

test("the sets of a kind that select a cluster come in the order of their age, whatever the order of the list", () => {
  const older = { creationTimestamp: "2026-11-01T00:00:00Z" };
  const younger = { creationTimestamp: "2026-11-02T00:00:00Z" };
  const eventing = { ...setOf("eventing", older), kind: "KnativeEventingSet" } as const;
  const sets = [setOf("young", younger), setOf("b", older), eventing, setOf("a", older)];
  const view = viewOf({ sets });
  const names = view.selectors("KnativeServingSet", "fleet/eu").map(({ set }) => set.metadata.name);
  expect(names).toEqual(["a", "b", "young"]);
  expect(view.selectors("KnativeServingSet", "fleet/us")).toEqual([]);
});

test("a set whose selection cannot be used selects no cluster", () => {
  const unusable = { kind: "unusable", reason: "PlacementNotFound", message: "" } as const;
  const view = viewOf({ sets: [example], selectionOf: () => unusable });
  expect(view.selectors("KnativeServingSet", "fleet/eu")).toEqual([]);
});

test("a set has the revisions with its labels, and those of other sets not", () => {
  const [mine, other] = [revisionOf("prod"), revisionOf("other")];
  const view = viewOf({ sets: [example], revisions: [other, mine] });
  expect(view.revisions(setId(example))).toEqual([mine]);
});
