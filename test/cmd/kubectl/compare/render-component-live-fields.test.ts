import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../../api/kubernetes.ts";
import { withLiveFields } from "../../../../cmd/kubectl/compare/render-component.ts";

const rbac = "rbac.authorization.k8s.io/v1";
const rule = { apiGroups: ["a"], resources: ["b"], verbs: ["get"] };

function role(rest: object, name = "admin"): Manifest {
  return { apiVersion: rbac, kind: "ClusterRole", metadata: { name }, ...rest };
}

function adapter(spec: object, name = "pingsource-mt-adapter"): Manifest {
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace: "e" }, spec };
}

function pod(env: readonly object[]): object {
  return { template: { spec: { containers: [{ name: "dispatcher", env }] } } };
}

const aggregated = role({ aggregationRule: {}, rules: [] });

describe("fields that the cluster fills in", () => {
  test.each([
    {
      name: "rules of an aggregated role are the cluster's",
      desired: aggregated,
      live: role({ rules: [rule] }),
      shown: { ...aggregated, rules: [rule] },
    },
    {
      name: "a role without rules stays as it is (N-1)",
      desired: aggregated,
      live: role({ rules: null }),
      shown: aggregated,
    },
    {
      name: "an ordinary role stays as it is",
      desired: role({ rules: [] }),
      live: role({ rules: [rule] }),
      shown: role({ rules: [] }),
    },
    {
      name: "a role that the cluster lacks stays as it is",
      desired: aggregated,
      live: role({ rules: [rule] }, "edit"),
      shown: aggregated,
    },
    {
      name: "the PingSource adapter keeps its replicas",
      desired: adapter({ replicas: 0 }),
      live: adapter({ replicas: 3 }),
      shown: adapter({ replicas: 3 }),
    },
    {
      name: "another Deployment does not",
      desired: adapter({ replicas: 0 }, "x"),
      live: adapter({ replicas: 3 }, "x"),
      shown: adapter({ replicas: 0 }, "x"),
    },
    {
      name: "the adapter keeps the variables that its controller sets, and no other",
      desired: adapter(pod([{ name: "K_SINK_TIMEOUT", value: "1" }, { name: "POD_NAME" }])),
      live: adapter(
        pod([
          { name: "FOREIGN" },
          { name: "K_SINK_TIMEOUT", value: "42" },
          { name: "K_OBSERVABILITY_CONFIG", value: "{}" },
        ]),
      ),
      shown: adapter(
        pod([
          { name: "K_SINK_TIMEOUT", value: "42" },
          { name: "K_OBSERVABILITY_CONFIG", value: "{}" },
          { name: "POD_NAME" },
        ]),
      ),
    },
  ])("$name", ({ desired, live, shown }) => {
    expect(withLiveFields([live])(desired)).toEqual(shown);
  });
});
