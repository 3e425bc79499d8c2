import type { Component } from "../../../../../api/component.ts";
import { keyOf, type Manifest } from "../../../../../api/kubernetes.ts";
import {
  anchorManifest,
  type InstallationPlace,
} from "../../../../../installation/anchor-object.ts";
import {
  anchorAnnotations,
  componentUidLabel,
  guardLabels,
  secondOwnerKey,
} from "../../../../../installation/anchor.ts";
import { encodeInventory } from "../../../../../installation/inventory.ts";
import { deploymentOf } from "./upstream-chart-objects.ts";

/** Namespace of the installation on its cluster. */
export const installedIn = "knative-eventing";

/**
 * What knfleet has on the cluster of a component that it installed and guards, in the order of creation: the namespace, the anchor, one object of each way in which
 * a mark is taken off, and a policy of the guard that matches nothing. `deployments`: of the installation.
 */
export function guardedInstallation(
  component: Component,
  { profile, hubId }: Pick<InstallationPlace, "profile" | "hubId">,
  deployments: readonly string[],
): readonly Manifest[] {
  const labels = { [componentUidLabel]: component.metadata.uid };
  const parts = partsOf(labels, deployments, secondOwnerKey(component).name);
  const entries = parts.map((part) => ({ ...keyOf(part), hash: "" }));
  const inventory = encodeInventory({ version: "1.23.0", complete: true, entries });
  const target = { ...(profile === undefined ? {} : { profile }), hubId, namespace: installedIn };
  const metadata = { name: installedIn, labels: { [guardLabels.namespace]: hubId } };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata },
    anchorManifest({ component, target }, inventory),
    ...parts,
    ...guardOf(hubId),
  ];
}

function partsOf(
  labels: Readonly<Record<string, string>>,
  deployments: readonly string[],
  secondOwner: string,
): readonly Manifest[] {
  const { spec } = deploymentOf("job");
  const { template } = Object(spec);
  const metadata = (name: string) => ({ namespace: installedIn, name, labels });
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: metadata("config-features") },
    ...deployments.map((name) => ({ ...deploymentOf(name), metadata: metadata(name) })),
    {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: metadata("storage-version"),
      spec: {
        suspend: true,
        template: { spec: { ...template.spec, restartPolicy: "Never" } },
      },
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: secondOwner, labels },
      rules: [],
    },
  ];
}

function guardOf(hubId: string): readonly Manifest[] {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "guard", labels: { [anchorAnnotations.hubId]: hubId } };
  const rule = {
    apiGroups: ["example.org"],
    apiVersions: ["*"],
    resources: ["things"],
    operations: ["DELETE"],
  };
  return [
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "false" }],
      },
    },
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: "guard", validationActions: ["Deny"] },
    },
  ];
}
