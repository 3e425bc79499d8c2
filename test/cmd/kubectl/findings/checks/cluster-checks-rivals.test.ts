import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { rivalItems } from "../../../../../cmd/kubectl/findings/checks/cluster-checks.ts";
import { anchorManifest } from "../../../../../installation/anchor-object.ts";
import { encodeInventory } from "../../../../../installation/inventory.ts";
import { component, ownAnchorOf } from "../../fleet-facts.ts";

const installed = component({ cluster: "one" });
const refused = component({ cluster: "again", namespace: "team-b" });
const sameProfile = component({ cluster: "one", namespace: "team-c" });
const eventing = component({ cluster: "again", namespace: "team-b", kind: "KnativeEventing" });
const components = [installed, refused, sameProfile, eventing];
const ruled = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
const inventory = encodeInventory({
  version: "1.23.0",
  complete: true,
  entries: [{ ...ruled, name: "knative-serving-core", hash: "x", fingerprint: "y" }],
});
const target = { namespace: "team-a", hubId: "hub", profile: { namespace: "fleet", name: "one" } };
const anchor: KubeObject = {
  ...ownAnchorOf(installed, []),
  data: anchorManifest({ component: installed, target }, inventory)["data"],
};

/** What is said of components whose ClusterProfiles `one` and `again` lead to one cluster with these anchors. */
function said(asked: typeof components, anchors: readonly KubeObject[] | undefined) {
  const facts = { version: "v1.36.3", anchors };
  const read = new Map([
    ["fleet/one", facts],
    ["fleet/again", facts],
  ]);
  return rivalItems(asked, { read, components });
}

describe("of a cluster that has two ClusterProfiles, check tells", () => {
  test("which component has the place of another one", () => {
    expect(said([refused], [anchor])).toEqual([
      {
        check: "one per cluster",
        subject: "KnativeServing team-b/knative-serving",
        cluster: { namespace: "fleet", name: "again" },
        state: "FAIL",
        code: "KNF1013",
        message:
          "KnativeServing team-a/knative-serving is installed on the same cluster, which is ClusterProfile fleet/one too",
        next: [
          "Delete the one of the two that is not meant:",
          "kubectl delete knativeservings knative-serving -n team-b",
          "kubectl delete knativeservings knative-serving -n team-a",
        ],
      },
    ]);
  });

  test.each([
    ["that has it", installed, [anchor]],
    ["that waits for a place that nobody has", refused, []],
    ["of another kind", eventing, [anchor]],
  ])("that all is well for a component %s", (_, asked, anchors) => {
    const message = `no other ${asked.kind} is installed there`;
    expect(said([asked], anchors)).toMatchObject([{ state: "OK", code: null, message }]);
  });

  test("that it does not know without the right to list the anchors", () => {
    expect(said([refused], undefined)).toMatchObject([{ state: "SKIPPED" }]);
  });

  test("nothing of two components with one ClusterProfile, which another check names, and of a cluster that was not read", () => {
    expect(said([sameProfile], [anchor])).toEqual([]);
    expect(said([component({ cluster: "elsewhere" })], [anchor])).toEqual([]);
  });
});
