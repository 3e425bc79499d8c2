import { partLease, shardOf } from "../../../../../api/shards.ts";
import { holdLease, writeComponent, writeStatus, type World } from "./diagnose-world.ts";
import { eventing, type Fault } from "./fault.ts";

async function asUser(
  { fleet: { hub } }: World,
  name: string,
  rules: readonly object[],
): Promise<string> {
  const { token } = await hub.serviceAccountToken({
    namespace: "people",
    name,
    rules: rules.map((rule) => ({ verbs: ["get", "list"], ...rule })),
  });
  return hub.writeKubeconfig(`${name}.kubeconfig`, { identity: { token } });
}

export const hubFaults: readonly Fault[] = [
  {
    name: "the hub refuses connections",
    code: "KNF1001",
    make: async ({ fleet: { hub } }) => {
      const server = "https://127.0.0.1:9";
      const identity = { token: "none" };
      const path = await hub.writeKubeconfig("gone-hub.kubeconfig", { identity, server });
      return { args: ["fleet/healthy", "--kubeconfig", path] };
    },
  },
  {
    name: "the hub does not know the user",
    code: "KNF1002",
    make: async ({ fleet: { hub } }) => {
      const path = await hub.writeKubeconfig("nobody.kubeconfig", { identity: { token: "wrong" } });
      return { args: [...eventing("healthy"), "--kubeconfig", path] };
    },
  },
  {
    name: "the user may not read the component",
    code: "KNF1003",
    says: /the right to get knativeeventings.operator.knative.dev in namespace healthy/,
    make: async (world) => ({
      args: [...eventing("healthy"), "--kubeconfig", await asUser(world, "nothing", [])],
    }),
  },
  {
    name: "the cluster is no hub",
    code: "KNF1004",
    make: ({ fleet }) =>
      Promise.resolve({
        args: [...eventing("healthy"), "--kubeconfig", fleet.spoke(0).adminKubeconfigPath],
      }),
  },
  {
    name: "the controller let go of its Lease",
    code: "KNF1005",
    says: /was let go/,
    make: async ({ fleet }) => {
      await holdLease(fleet, 1, { holder: "" });
      return { args: eventing("healthy") };
    },
  },
  {
    name: "the controller stopped to renew its Lease",
    code: "KNF1005",
    says: /has run out/,
    make: async ({ fleet }) => {
      const { hub } = fleet;
      await holdLease(fleet, 1);
      const key = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        namespace: "knfleet-system",
        name: "knfleet-controller",
      };
      await hub.admin.patch(key, { spec: { renewTime: "2026-01-01T00:00:00.000000Z" } });
      return { args: eventing("healthy") };
    },
  },
  {
    name: "replicas share the fleet, and none has the shard of the cluster",
    code: "KNF1005",
    says: /^No replica serves shard \d of 2, to which the cluster belongs: Lease knfleet-system\/knfleet-shard-\d-of-2 does not exist$/,
    make: async ({ fleet }) => {
      const other = partLease(1 - shardOf("fleet/healthy", 2), 2);
      await holdLease(fleet, 1, { holder: "" });
      await holdLease(fleet, 60, { name: other });
      const key = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        namespace: "knfleet-system",
        name: other,
      };
      return { args: eventing("healthy"), undo: () => fleet.hub.admin.remove(key) };
    },
  },
  {
    name: "nobody ever ran a controller",
    code: "KNF1006",
    severity: "warning",
    make: async ({ fleet }) => {
      const key = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        namespace: "knfleet-system",
        name: "knfleet-controller",
      };
      await fleet.hub.admin.remove(key);
      return { args: eventing("healthy") };
    },
  },
  {
    name: "a webhook has no Service",
    code: "KNF1008",
    says: /Service nowhere\/nobody does not exist/,
    make: async ({ fleet: { hub } }) => {
      const key = {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
      };
      await hub.admin.apply({
        ...key,
        metadata: { name: "broken" },
        webhooks: [
          {
            name: "broken.example.test",
            clientConfig: {
              service: { namespace: "nowhere", name: "nobody" },
              caBundle: Buffer.from(hub.caPem).toString("base64"),
            },
            // Of a group of ours, but of nothing that anybody writes.
            rules: [
              {
                apiGroups: ["operator.knative.dev"],
                apiVersions: ["v1"],
                operations: ["CREATE"],
                resources: ["nothings"],
              },
            ],
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
          },
        ],
      });
      return {
        args: eventing("healthy"),
        undo: () => hub.admin.remove({ ...key, name: "broken" }),
      };
    },
  },
  {
    name: "the ClusterProfile does not exist",
    code: "KNF2002",
    make: async (world) => {
      await writeComponent(world.fleet, "no-profile", {
        clusterProfileRef: { namespace: "fleet", name: "never-was" },
      });
      await writeStatus(world.fleet, "no-profile", [{ type: "Ready", status: "False" }]);
      return { args: eventing("no-profile") };
    },
  },
  {
    name: "the ClusterProfile says that the cluster is not healthy (D13)",
    code: "KNF2003",
    make: async (world) => {
      await world.profile("unhealthy", { healthy: false });
      return { args: ["fleet/unhealthy"] };
    },
  },
  {
    name: "the ClusterProfile says nothing about health (D13)",
    code: "KNF2004",
    make: async (world) => {
      await world.profile("silent", { healthy: "missing" });
      return { args: ["fleet/silent"] };
    },
  },
  {
    name: "the ClusterProfile may not be read",
    code: "KNF2005",
    make: async (world) => {
      const rules = [{ apiGroups: ["operator.knative.dev"], resources: ["knativeeventings"] }];
      return { args: ["fleet/healthy", "--kubeconfig", await asUser(world, "blind", rules)] };
    },
  },
];
