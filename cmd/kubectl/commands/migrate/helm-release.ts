import { promisify } from "node:util";
import { gunzip } from "node:zlib";

import { ifServed } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { jsonOf, recordAt, textAt } from "../../../../api/fields.ts";
import { keyOf, type KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { builtInReleaseKinds } from "../../../../installation/kinds.ts";
import type { HelmRelease, LeftObject } from "./migration-facts.ts";

/** The Helm release that an object says it is of; null: none. */
export function releaseOf({ metadata: { annotations = {} } }: KubeObject): HelmRelease | null {
  const name = annotations["meta.helm.sh/release-name"];
  const namespace = annotations["meta.helm.sh/release-namespace"];
  return name === undefined || namespace === undefined ? null : { name, namespace };
}

/** The objects of a release on the hub, without those that Helm would keep. CRDs are never among them. Throws the errors of KubeClient. */
export async function listReleaseObjects(
  release: HelmRelease,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly LeftObject[]> {
  const { namespace } = release;
  const lists = builtInReleaseKinds.map(async (resource) => {
    const place = resource.namespaced ? { namespace } : {};
    const ref = { resource, ...place, labelSelector: "app.kubernetes.io/managed-by=Helm" };
    const list = await ifServed(hub.list(ref, { metadataOnly: true }, signal));
    const { apiVersion, kind } = resource;
    return (list?.items ?? [])
      .filter((object) => isOfRelease(object, release))
      .map((object) => leftObject({ ...object, apiVersion, kind }));
  });
  return (await Promise.all(lists)).flat();
}

/** Whether an object says that it is of a release, and Helm would remove it with the release. */
export function isOfRelease(object: KubeObject, release: HelmRelease): boolean {
  const isKept = object.metadata.annotations?.["helm.sh/resource-policy"] === "keep";
  return isSameRelease(releaseOf(object), release) && !isKept;
}

/** Whether two objects are of one release. */
export function isSameRelease(
  one: HelmRelease | null,
  other: HelmRelease | null | undefined,
): boolean {
  return one !== null && one.name === other?.name && one.namespace === other.namespace;
}

/** An object that can be removed, and no other of its name. */
export function leftObject(object: KubeObject): LeftObject {
  return { ...keyOf(object), uid: object.metadata.uid };
}

/** Helm's records of a release: one Secret for each revision. Throws the errors of KubeClient. */
export async function listHelmRecords(
  { namespace, name }: HelmRelease,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const resource = knownResource("v1", "Secret");
  const labelSelector = `owner=helm,name=${name}`;
  const { items } = await hub.list({ resource, namespace, labelSelector }, {}, signal);
  return items.map((object) => ({ ...object, apiVersion: "v1", kind: "Secret" }));
}

const chartName = "knative-operator";
// A release is compressed in a Secret of 1 MiB at the most.
const maxBytes = 64 * 1_024 ** 2;
const unzip = promisify(gunzip);

/** Whether a record of Helm is of this release, and of the chart of upstream's operator. */
export async function isOfUpstreamChart(
  record: KubeObject,
  { namespace, name }: HelmRelease,
): Promise<boolean> {
  const stored = Buffer.from(textAt(recordAt(record, "data"), "release") ?? "", "base64");
  try {
    const packed = Buffer.from(stored.toString("latin1"), "base64");
    const content = jsonOf((await unzip(packed, { maxOutputLength: maxBytes })).toString("utf8"));
    const chart = recordAt(content, "chart", "metadata");
    const own = recordAt(content);
    return (
      textAt(chart, "name") === chartName &&
      textAt(own, "name") === name &&
      textAt(own, "namespace") === namespace
    );
  } catch {
    // Not what Helm writes.
    return false;
  }
}
