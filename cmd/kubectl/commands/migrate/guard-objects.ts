import { ifServed } from "../../../../access/kube/api-error.ts";
import {
  type KubeClient,
  type ObjectRef,
  objectRefOf,
} from "../../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { anchorAnnotations, guardLabels } from "../../../../installation/anchor.ts";

/** Something of the guard of a hub on a cluster. */
interface GuardObject {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The label to take off; undefined: the object itself is of the guard. */
  readonly label?: string;
}

const admission = "admissionregistration.k8s.io/v1";

// In the order of removal: policies refuse as long as their bindings are there.
const kinds = [
  { apiVersion: admission, kind: "ValidatingAdmissionPolicyBinding" },
  { apiVersion: admission, kind: "ValidatingAdmissionPolicy" },
  { apiVersion: "v1", kind: "Namespace", label: guardLabels.namespace },
  {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    label: guardLabels.crd,
  },
];

/** Reads what the guard of a hub has on a cluster, in the order of its removal. Throws the errors of KubeClient. */
export async function guardObjects(
  client: Pick<KubeClient, "list">,
  hubId: string,
  signal: AbortSignal,
): Promise<readonly GuardObject[]> {
  const lists = kinds.map(async ({ apiVersion, kind, label }) => {
    const resource = knownResource(apiVersion, kind);
    const labelSelector = `${label ?? anchorAnnotations.hubId}=${hubId}`;
    const list = client.list({ resource, labelSelector }, { metadataOnly: true }, signal);
    // Policies are not served everywhere. What may not be read may be there: a right can have been taken away after the guard was written.
    const found = await ifServed(list);
    return (found?.items ?? []).map(({ metadata }: KubeObject) => ({
      ref: objectRefOf(metadata, resource),
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      ...(label === undefined ? {} : { label }),
    }));
  });
  return (await Promise.all(lists)).flat();
}
