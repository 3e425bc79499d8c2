import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import { operatorApiVersion } from "../../../../../api/component.ts";
import { keyOf } from "../../../../../api/kubernetes.ts";
import type { Profile } from "../../../../fleet/fleet.ts";
import { conditionOf, valueAt } from "../../../../fleet/json-record.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { controllerBinding } from "../../controller-binding.ts";
import { realProvider, writeComponent, writeStatus, type World } from "./diagnose-world.ts";
import { eventing, type Fault, type Made } from "./fault.ts";
import { withEntry, withProvider } from "./ways-in.ts";

/** A component with a status by hand, on a ClusterProfile of its own that works. */
async function component(world: World, name: string, conditions: readonly object[]): Promise<Made> {
  await world.profile(name);
  await writeComponent(world.fleet, name, { clusterProfileRef: { namespace: "fleet", name } });
  await writeStatus(world.fleet, name, conditions);
  return { args: eventing(name) };
}

const notReady = { type: "Ready", status: "False" };
const resolved = { type: "TargetClusterResolved", status: "True" };

export const componentFaults: readonly Fault[] = [
  {
    name: "the component does not exist",
    code: "KNF1010",
    make: () => Promise.resolve({ args: eventing("nobody") }),
  },
  {
    name: "no controller has looked at the component",
    code: "KNF1011",
    make: async (world) => {
      await world.profile("unseen");
      await writeComponent(world.fleet, "unseen", {
        clusterProfileRef: { namespace: "fleet", name: "unseen" },
      });
      return { args: eventing("unseen"), options: { laterMs: 60_000 } };
    },
  },
  {
    name: "a deletion is stuck, because the ClusterProfile is gone (D5)",
    code: "KNF1012",
    make: async (world) => {
      const { hub } = world.fleet;
      await writeComponent(world.fleet, "stuck", {
        clusterProfileRef: { namespace: "fleet", name: "vanished" },
      });
      const key = {
        apiVersion: operatorApiVersion,
        kind: "KnativeEventing",
        namespace: "stuck",
        name: "stuck",
      };
      await hub.admin.patch(key, {
        metadata: { finalizers: ["knativeeventings.operator.knative.dev"] },
      });
      await hub.admin.remove(key);
      return {
        args: eventing("stuck"),
        options: { laterMs: 300_000 },
        undo: () => hub.admin.patch(key, { metadata: { finalizers: [] } }),
      };
    },
  },
  {
    name: "a second component is for the same cluster",
    code: "KNF1013",
    says: /KnativeEventing healthy\/healthy has the same cluster and is older/,
    make: async (world) => {
      await writeComponent(world.fleet, "twin", {
        clusterProfileRef: { namespace: "fleet", name: "healthy" },
      });
      await writeStatus(world.fleet, "twin", [notReady]);
      const key = {
        apiVersion: operatorApiVersion,
        kind: "KnativeEventing",
        namespace: "twin",
        name: "twin",
      };
      return { args: eventing("twin"), undo: () => world.fleet.hub.admin.remove(key) };
    },
  },
  {
    name: "the upstream operator uses the way in that it knew when it started (D4)",
    code: "KNF1014",
    severity: "warning",
    make: async (world) => staleOperator(world),
  },
  {
    name: "the upstream operator ignores the TLS name of the way in (D6)",
    code: "KNF2007",
    severity: "warning",
    says: /ignores tls-server-name of the ClusterProfile$/,
    make: async (world) => {
      const made = await withEntry(world, "other-name", { "tls-server-name": "localhost" });
      return { ...made, undo: await startOperator(world) };
    },
  },
  {
    name: "the upstream operator mixes what ClusterProfiles add to one provider (D7)",
    code: "KNF1020",
    severity: "warning",
    says: /to provider "secretreader" on to the others that offer it: \d+ do$/,
    make: async (world) => {
      const real = await realProvider(world.providerFile);
      const provider = { ...real, profileSourcedCLIArgsPolicy: "Append" };
      const made = await withProvider(world, "mixing", provider);
      return { ...made, undo: await startOperator(world) };
    },
  },
  {
    name: "the version is too far away",
    code: "KNF1015",
    make: (world) =>
      component(world, "too-far", [
        notReady,
        resolved,
        {
          type: "VersionMigrationEligible",
          status: "False",
          reason: "VersionNotEligible",
          message: "from 1.20 to 1.23",
        },
      ]),
  },
  {
    name: "there is no such release",
    code: "KNF1016",
    make: (world) =>
      component(world, "no-release", [
        notReady,
        resolved,
        {
          type: "InstallSucceeded",
          status: "False",
          reason: "Error",
          message: "the manifests of the target version 9.9.9 are not available to this release",
        },
      ]),
  },
  {
    name: "the component may not use its cluster",
    code: "KNF1019",
    make: (world) =>
      component(world, "not-permitted", [
        notReady,
        {
          type: "TargetClusterResolved",
          status: "False",
          reason: "ReferenceNotPermitted",
          message: 'No grant lets components of namespace "a" use ClusterProfile fleet/spoke-1',
        },
      ]),
  },
  {
    name: "a manifest cannot be fetched",
    code: "KNF1017",
    make: (world) =>
      component(world, "no-manifest", [
        notReady,
        resolved,
        {
          type: "InstallSucceeded",
          status: "False",
          reason: "ManifestSourceUnavailable",
          message: "https://example.test answered 404",
        },
      ]),
  },
  {
    name: "the cluster refuses objects",
    code: "KNF1018",
    make: (world) =>
      component(world, "refused-objects", [
        notReady,
        resolved,
        {
          type: "InstallSucceeded",
          status: "False",
          reason: "Error",
          message: "ConfigMap a/b was refused",
        },
      ]),
  },
];

/** The upstream operator's Deployment, as far as it is looked at, until its pod runs; returns how to undo it. */
async function startOperator(world: World): Promise<() => Promise<unknown>> {
  const { hub } = world.fleet;
  const labels = { name: operator.name };
  await hub.admin.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: operator.namespace },
  });
  const { apiVersion, kind, namespace, name } = operator;
  const binding = controllerBinding("upstream", namespace);
  await hub.admin.apply(binding);
  await hub.admin.apply({
    apiVersion,
    kind,
    metadata: { namespace, name },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "a", image: "example.test/a" }] },
      },
    },
  });
  await waitFor(
    "the operator to run",
    async () => conditionOf(await hub.admin.get(operator), "Available")?.status === "True",
  );
  return async () => {
    await hub.admin.remove(operator);
    await hub.admin.remove(keyOf(binding));
    await waitFor("the operator to be gone", async () => (await podsOf(world)).length === 0);
  };
}

function podsOf({ fleet }: World) {
  const { namespace } = operator;
  return fleet.hub.admin.list({ apiVersion: "v1", kind: "Pod", namespace });
}

const operator = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace: "knative-operator",
  name: "knative-operator",
};

/** A way in that changes after the upstream operator has started. */
async function staleOperator(world: World): Promise<Made> {
  const { hub } = world.fleet;
  const profile: Profile = await world.profile("stale");
  const undo = await startOperator(world);
  const started = String(valueAt((await podsOf(world))[0], "status", "startTime"));
  // Times have whole seconds: the way in has to change in a later one.
  await waitFor("the way in to change later", async () => {
    await profile.update({ via: "direct" });
    await profile.update({ via: "proxy" });
    const stored = await hub.admin.get({
      apiVersion: clusterProfileApiVersion,
      kind: "ClusterProfile",
      namespace: "fleet",
      name: "stale",
    });
    const times = (stored?.metadata.managedFields ?? []).flatMap(({ time }) => time ?? []);
    return times.some((time) => time > started);
  });
  return { args: ["fleet/stale"], undo };
}
