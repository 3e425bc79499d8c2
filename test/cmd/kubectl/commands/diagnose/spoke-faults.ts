import { policyNameOf } from "../../../../../controller/guard/policy.ts";
import { anchorNameOf } from "../../../../../installation/anchor.ts";
import { writeThinRelease } from "../../../../e2e/thin-release.ts";
import type { Cluster } from "../../../../fleet/fleet.ts";
import { valueAt } from "../../../../fleet/json-record.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { deploymentKey } from "./deployment-faults.ts";
import { type World, writeComponent, writeStatus } from "./diagnose-world.ts";
import { eventing, type Fault } from "./fault.ts";

const spokeOf = ({ fleet }: World): Cluster => fleet.spoke(0);
const anchorKey = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: name,
  name: anchorNameOf({ kind: "KnativeEventing", name }),
});

/** Installations that are broken, each in a way of its own. */
export const victims = [
  "anchorless",
  "foreign",
  "holes",
  "edited",
  "half-done",
  "scaled",
  "unschedulable",
  "asleep",
  "forbidden",
  "pending",
  "drowsy",
  "hanging",
  "ending",
  "frozen",
  "denied",
];

/** Takes the guards away; what is tried after that may delete anchors. */
async function unguard(world: World): Promise<void> {
  const { admin } = spokeOf(world);
  const hubId = await hubIdOf(world);
  for (const kind of ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"]) {
    for (const guard of ["anchor-guard", "namespace-guard", "crd-guard"] as const) {
      await admin.remove({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind,
        name: policyNameOf(guard, hubId),
      });
    }
  }
}

/** Does something as soon as the API server, which reads each kind of policies anew once a second, lets it be done. */
async function onceUnguarded(act: () => Promise<unknown>): Promise<void> {
  await waitFor("the guard to be gone", () =>
    act().then(
      () => true,
      () => false,
    ),
  );
}

async function hubIdOf({ fleet }: World): Promise<string> {
  const system = await fleet.hub.admin.get({
    apiVersion: "v1",
    kind: "Namespace",
    name: "kube-system",
  });
  return system?.metadata.uid ?? "";
}

/** A policy that lets nobody write the ConfigMaps of a namespace, and has something to hide. */
async function refuseObjects({ admin }: Cluster, namespace: string): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "only-ci" };
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  await admin.apply({
    apiVersion,
    kind: "ValidatingAdmissionPolicy",
    metadata,
    spec: {
      matchConstraints: { resourceRules: [{ ...rule, operations: ["CREATE", "UPDATE"] }] },
      matchConditions: [
        { name: "here", expression: `request.namespace == "${namespace}" && request.dryRun` },
      ],
      validations: [{ expression: "false", message: "no value here: token=hunter2" }],
    },
  });
  await admin.apply({
    apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata,
    spec: { policyName: metadata.name, validationActions: ["Deny"] },
  });
}

export const spokeFaults: readonly Fault[] = [
  {
    name: "Kubernetes is too old",
    code: "KNF6001",
    make: () =>
      Promise.resolve({
        args: eventing("healthy"),
        options: { env: { KUBERNETES_MIN_VERSION: "v1.99.0" } },
      }),
  },
  {
    name: "nothing was installed yet",
    code: "KNF6004",
    make: async (world) => {
      await world.profile("empty");
      await writeComponent(world.fleet, "empty", {
        clusterProfileRef: { namespace: "fleet", name: "empty" },
      });
      await writeStatus(world.fleet, "empty", [{ type: "Ready", status: "Unknown" }]);
      return { args: eventing("empty") };
    },
  },
  {
    name: "the installation is not finished",
    code: "KNF6008",
    severity: "warning",
    make: async (world) => {
      const { admin } = spokeOf(world);
      const stored = await admin.get(anchorKey("half-done"));
      const data = valueAt(stored, "data");
      const [key = ""] = Object.keys(typeof data === "object" && data !== null ? data : {});
      const text = String(valueAt(data, key)).replace('"complete":true', '"complete":false');
      await admin.patch(anchorKey("half-done"), { data: { [key]: text } });
      return { args: eventing("half-done") };
    },
  },
  {
    name: "a policy of the spoke refuses an object",
    code: "KNF6012",
    says: /the ValidatingAdmissionPolicy only-ci denies it; it says: no value here: token=\[redacted\]/,
    make: async (world) => {
      await refuseObjects(spokeOf(world), "denied");
      await writeStatus(world.fleet, "denied", [
        { type: "Ready", status: "False", reason: "Error" },
        {
          type: "InstallSucceeded",
          status: "False",
          reason: "Error",
          message:
            "Install failed with message: ConfigMap denied/thin-001: Not allowed: the ValidatingAdmissionPolicy only-ci denies it",
        },
      ]);
      const args = [
        ...eventing("denied"),
        "--release-dir",
        await writeThinRelease(world.fleet.folder, 2),
      ];
      // The API server reads policies anew once a second.
      await waitFor("the policy to be enforced", async () => {
        const { report } = await world.diagnose(args);
        return report.items[0]?.rootCause?.message.includes("it says") === true;
      });
      return { args };
    },
  },
  {
    name: "a webhook of the spoke does not answer",
    code: "KNF6016",
    severity: "warning",
    says: /1 waiting for webhook hangs\.example\.com/,
    advises:
      /get validatingwebhookconfiguration policies -o yaml\n.* describe service judge -n policy$/,
    make: async (world) => {
      await spokeOf(world).admin.apply({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "policies" },
        webhooks: [
          {
            name: "hangs.example.com",
            admissionReviewVersions: ["v1"],
            sideEffects: "None",
            clientConfig: { service: { namespace: "policy", name: "judge" } },
            rules: [],
          },
        ],
      });
      await writeStatus(world.fleet, "denied", [
        { type: "Ready", status: "Unknown", reason: "Installing" },
        {
          type: "InstallSucceeded",
          status: "Unknown",
          reason: "Installing",
          message: "39 of 40 objects applied, 1 waiting for webhook hangs.example.com",
        },
      ]);
      return { args: eventing("denied") };
    },
  },
  {
    name: "the guard's binding does not deny",
    code: "KNF6005",
    says: /was not refused/,
    make: async (world) => {
      const { admin } = spokeOf(world);
      const name = policyNameOf("anchor-guard", await hubIdOf(world));
      const key = {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicyBinding",
        name,
      };
      await admin.patch(key, { spec: { validationActions: ["Audit"] } });
      // The API server reads bindings anew once a second.
      await waitFor(
        "the guard to be off",
        async () => {
          const { report } = await world.diagnose(eventing("healthy"));
          return report.items[0]?.rootCause?.code === "KNF6005";
        },
        { timeoutMs: 120_000 },
      );
      return {
        args: eventing("healthy"),
        undo: () => admin.patch(key, { spec: { validationActions: ["Deny", "Audit"] } }),
      };
    },
  },
  {
    name: "the guard's policies are missing",
    code: "KNF6005",
    says: /ValidatingAdmissionPolicy.* is missing/,
    make: async (world) => {
      await unguard(world);
      return { args: eventing("healthy") };
    },
  },
  {
    name: "the anchor belongs to another component",
    code: "KNF6003",
    make: async (world) => {
      const key = anchorKey("foreign");
      const change = { metadata: { annotations: { "operator.knative.dev/cr-uid": "of-another" } } };
      await onceUnguarded(() => spokeOf(world).admin.patch(key, change));
      return { args: eventing("foreign") };
    },
  },
  {
    name: "the anchor is gone",
    code: "KNF6002",
    make: async (world) => {
      const { admin } = spokeOf(world);
      await admin.remove(anchorKey("anchorless"));
      await waitFor(
        "the Deployment to be collected",
        async () => (await admin.get(deploymentKey("anchorless"))) === undefined,
        { timeoutMs: 60_000 },
      );
      return { args: eventing("anchorless") };
    },
  },
  {
    name: "objects are missing",
    code: "KNF6006",
    says: /ConfigMap holes\/thin-000/,
    make: async (world) => {
      await spokeOf(world).admin.remove({
        apiVersion: "v1",
        kind: "ConfigMap",
        namespace: "holes",
        name: "thin-000",
      });
      return { args: eventing("holes") };
    },
  },
  {
    name: "somebody changed an object",
    code: "KNF6007",
    says: /ConfigMap edited\/thin-001 by .*somebody-else/,
    make: async (world) => {
      const metadata = { namespace: "edited", name: "thin-001" };
      await spokeOf(world).admin.apply(
        { apiVersion: "v1", kind: "ConfigMap", metadata, data: { index: "x" } },
        { fieldManager: "somebody-else" },
      );
      return { args: eventing("edited") };
    },
  },
  {
    name: "the namespace is being deleted",
    code: "KNF6011",
    make: async (world) => {
      const { admin } = spokeOf(world);
      await admin.patch(anchorKey("ending"), { metadata: { finalizers: ["example.test/hold"] } });
      const namespace = { apiVersion: "v1", kind: "Namespace", name: "ending" };
      await onceUnguarded(() => admin.remove(namespace));
      return {
        args: eventing("ending"),
        undo: () => admin.patch(anchorKey("ending"), { metadata: { finalizers: null } }),
      };
    },
  },
];
