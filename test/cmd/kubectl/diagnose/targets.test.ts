import { expect, test } from "vitest";

import { readTargets } from "../../../../cmd/kubectl/diagnose/targets.ts";

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
  expect(readTargets(args, "fleet")).toEqual({ profiles, rest });
});
