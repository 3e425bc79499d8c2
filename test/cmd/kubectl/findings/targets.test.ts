import { describe, expect, test } from "vitest";

import { readTargets } from "../../../../cmd/kubectl/findings/targets.ts";
import { sampleDirOf } from "../../../../cmd/release-files.ts";
import { runText } from "../run-text.ts";
import { startStubHub } from "../stub-hub.ts";

const profile = (namespace: string, name: string) => ({ kind: "ClusterProfile", namespace, name });

test.each([
  { args: ["cp/spoke-1"], profiles: [profile("fleet", "spoke-1")], rest: [] },
  {
    args: ["clusterprofile", "a", "b"],
    profiles: [profile("fleet", "a"), profile("fleet", "b")],
    rest: [],
  },
  {
    args: ["clusterprofiles.multicluster.x-k8s.io/a"],
    profiles: [profile("fleet", "a")],
    rest: [],
  },
  { args: ["cp/other/a"], profiles: [profile("other", "a")], rest: [] },
  { args: ["ks/a", "cp/b"], profiles: [profile("fleet", "b")], rest: ["ks/a"] },
  { args: [], profiles: [], rest: [] },
])("$args names $profiles and leaves $rest", ({ args, profiles, rest }) => {
  expect(readTargets(args, "fleet")).toEqual({ profiles, sets: [], rest });
});

test.each([["kss/prod"], ["kss", "prod"], ["knativeservingsets.knfleet.dev/prod"]])(
  "%s %s names a set, and no ClusterProfile",
  (...args) => {
    const sets = [{ kind: "KnativeServingSet", namespace: "fleet", name: "prod" }];
    expect(readTargets(args, "fleet")).toEqual({ profiles: [], sets, rest: [] });
  },
);

function object(namespace: string, name: string) {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace, name, uid: `${namespace}-${name}`, resourceVersion: "1" },
    spec: {},
  };
}

describe("a ClusterProfile that is named without a namespace", () => {
  const objects = [
    object("fleet", "eu-1"),
    object("fleet", "twice"),
    object("other", "twice"),
    // The namespace of the kubeconfig's context.
    object("team-a", "own"),
    object("other", "own"),
  ];

  test.each([
    { args: ["diagnose", "eu-1"], says: "ClusterProfile fleet/eu-1, walked from" },
    { args: ["diagnose", "cp/eu-1"], says: "ClusterProfile fleet/eu-1, walked from" },
    { args: ["diagnose", "cp", "eu-1"], says: "ClusterProfile fleet/eu-1, walked from" },
    { args: ["diagnose", "cp/own"], says: "ClusterProfile team-a/own, walked from" },
    {
      args: ["diagnose", "cp/eu-1", "-n", "other"],
      says: "ClusterProfile other/eu-1, walked from",
    },
    { args: ["diagnose", "cp/twice"], says: 'Several ClusterProfiles are named "twice"' },
    { args: ["diagnose", "nothing"], says: 'error: installation "nothing" not found' },
    { args: ["can-i", "eu-1", "--release-dir", sampleDirOf()], says: "fleet/eu-1: " },
    { args: ["can-i", "cp/eu-1", "--release-dir", sampleDirOf()], says: "fleet/eu-1: " },
  ])("$args: $says", async ({ args, says }) => {
    await using hub = await startStubHub(objects);
    const { stdout, stderr } = await runText(args, { env: hub.env });
    expect(`${stdout}${stderr}`).toContain(says);
  });
});
