import { describe, expect, test } from "vitest";

import { sameClusters } from "../../../../../cmd/kubectl/commands/orphans/orphans.ts";
import { component } from "../../fleet-facts.ts";
import { anchor, found, guarded, marked, namespace, none, remote, uid } from "./traces-input.ts";

describe("a cluster with several ClusterProfiles", () => {
  const names = new Set(["fleet/eu-1", "other/eu-1"]);
  const everything = {
    anchors: [anchor()],
    marked: [marked("Secret", uid)],
    guarded: [guarded("this-hub", namespace)],
  };

  test("has nothing left over of a component that came by the other one", () => {
    expect(found(everything, { cluster: { namespace: "other", name: "eu-1" }, names })).toEqual([]);
  });

  test("is known by the objects that were seen by both names", () => {
    const one = { ...none, anchors: [anchor()] };
    const two = { ...none, marked: [marked("Secret", uid)] };
    const both = { ...none, anchors: [anchor()], marked: [marked("Secret", uid)] };
    const all = new Map([
      ["a/one", one],
      ["a/two", two],
      ["a/empty", none],
      ["a/both", both],
      ["a/blank", none],
    ]);
    expect(sameClusters(all).map(([ids]) => [...ids])).toEqual([
      ["a/one", "a/two", "a/both"],
      ["a/empty"],
      ["a/blank"],
    ]);
  });

  test("is known by the uid of kube-system, where nothing of ours is", () => {
    const all = new Map([
      ["a/one", { ...none, clusterUid: "1" }],
      ["a/two", { ...none, clusterUid: "2" }],
      ["a/one-again", { ...none, clusterUid: "1" }],
    ]);
    expect(sameClusters(all).map(([ids]) => [...ids])).toEqual([
      ["a/one", "a/one-again"],
      ["a/two"],
    ]);
  });

  test.each([
    { name: "all of them", names },
    { name: "the other one alone", names: new Set(["other/eu-1"]) },
  ])("has a component too many, by $name", ({ names: read }) => {
    const second = component({ cluster: "eu-1", namespace: "team-b" });
    const clusterProfileRef = { namespace: "other", name: "eu-1" };
    const components = [
      remote,
      {
        ...second,
        metadata: { ...second.metadata, uid: "second" },
        spec: { ...second.spec, clusterProfileRef },
      },
    ];
    const items = found({ anchors: [anchor()] }, { names: read, read, components });
    expect(items.filter(({ finding }) => finding === "Collision")).toMatchObject([
      {
        cluster: null,
        object: { kind: "KnativeServing", namespace: "team-b" },
        message:
          "KnativeServing team-a/knative-serving is installed on the same cluster (other/eu-1 is also fleet/eu-1)",
        next: [
          "Delete the one of the two that is not meant:",
          "kubectl delete knativeservings knative-serving -n team-b",
          "kubectl delete knativeservings knative-serving -n team-a",
        ],
      },
    ]);
  });

  test("of which one was not read has nothing that is to be deleted", () => {
    const cluster = { namespace: "other", name: "eu-1" };
    const items = found(everything, { cluster, names: new Set(["other/eu-1"]), read: new Set() });
    expect(items).toMatchObject([
      { finding: "Orphan", message: expect.stringContaining("may be this same cluster") },
    ]);
    expect(JSON.stringify(items)).not.toMatch(/kubectl (?:delete|annotate|label)/);
  });
});
