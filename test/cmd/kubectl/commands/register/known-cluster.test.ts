import { describe, expect, test } from "vitest";

import type { ClusterProfile } from "../../../../../api/cluster-profile.ts";
import type { Component } from "../../../../../api/component.ts";
import {
  listsProfiles,
  otherProfiles,
  unknownProfiles,
} from "../../../../../cmd/kubectl/commands/register/known-cluster.ts";
import { anchorAnnotations, anchorNameOf } from "../../../../../installation/anchor.ts";

const stored = { uid: "uid", resourceVersion: "1" };
const server = "https://eu-1.example.com";

function profile(
  name: string,
  { cluster, ...annotations }: Readonly<Record<string, string>> = {},
): ClusterProfile {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, ...stored, annotations },
    status: { accessProviders: [{ name: "tokens", cluster: { server: cluster ?? "" } }] },
  };
}

const component: Component = {
  apiVersion: "operator.knative.dev/v1beta1",
  kind: "KnativeServing",
  metadata: { namespace: "a", name: "knative-serving", ...stored, uid: "component" },
  spec: { clusterProfileRef: { namespace: "fleet", name: "installed" } },
};
const anchor = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    namespace: "knative-serving",
    name: anchorNameOf({ kind: "KnativeServing", name: "knative-serving" }),
    ...stored,
    annotations: { [anchorAnnotations.componentUid]: "component" },
  },
};
const traits = { uid: "spoke", servers: [server], anchors: [] };
const own = { namespace: "fleet", name: "eu-1" };

describe("a cluster is known under another ClusterProfile", () => {
  test.each([
    {
      name: "that register made for it",
      hub: { profiles: [profile("other", { "knfleet.dev/cluster-uid": "spoke" })] },
      others: ["fleet/other"],
    },
    {
      name: "that has its address",
      hub: { profiles: [profile("other", { cluster: server })] },
      others: ["fleet/other"],
    },
    {
      name: "through which something is installed on it",
      hub: { components: [component] },
      cluster: { anchors: [anchor] },
      others: ["fleet/installed"],
    },
    {
      name: "and not under its own",
      hub: { profiles: [profile("eu-1", { cluster: server })] },
      others: [],
    },
    {
      name: "and not under one of another cluster",
      hub: {
        profiles: [
          profile("b", { "knfleet.dev/cluster-uid": "b", cluster: "https://b.example.com" }),
        ],
        components: [component],
      },
      others: [],
    },
    {
      name: "and not where no uid may be read",
      hub: { profiles: [profile("b", { "knfleet.dev/cluster-uid": "" })] },
      cluster: { uid: "" },
      others: [],
    },
    {
      name: "and not for an anchor that tells only a name",
      hub: { components: [component] },
      cluster: { anchors: [{ ...anchor, metadata: { ...anchor.metadata, annotations: {} } }] },
      others: [],
    },
  ])("$name", ({ hub, cluster = {}, others }) => {
    const known = { profiles: [], components: [], ...hub };
    expect(otherProfiles(own, known, { ...traits, ...cluster })).toEqual(others);
  });
});

describe("whether a cluster is known under another ClusterProfile", () => {
  const components = { group: "operator.knative.dev", resource: "knativeservings", verb: "list" };
  test.each([
    { hub: [], anchors: [], lacks: undefined },
    {
      hub: [listsProfiles],
      anchors: [],
      lacks: "list clusterprofiles.multicluster.x-k8s.io on the hub",
    },
    { hub: [], anchors: undefined, lacks: "list configmaps on the cluster" },
    {
      hub: [listsProfiles, components],
      anchors: undefined,
      lacks:
        "list clusterprofiles.multicluster.x-k8s.io on the hub and to list knativeservings.operator.knative.dev on the hub and to list configmaps on the cluster",
    },
  ])("is told with the right that is missing: $lacks", ({ lacks, ...read }) => {
    const said = `Whether another ClusterProfile leads to the same cluster could not be read, for want of the right to ${lacks}`;
    expect(unknownProfiles(read)).toEqual(lacks === undefined ? [] : [said]);
  });
});
