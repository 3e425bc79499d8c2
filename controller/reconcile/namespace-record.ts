import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Component } from "../../api/component.ts";
import {
  recordedNamespace,
  spokeNamespaceAnnotation,
} from "../../installation/installation-namespace.ts";
import type { StatusReport } from "./status-report.ts";
import { asComponent, refOf } from "./stored-component.ts";

/** The annotations that a component is to get so that it says where it is installed; empty where it says so, where that is not known, and on the hub itself. */
export function namespaceRecord(
  component: Component,
  namespace: string | undefined,
): Readonly<Record<string, string>> {
  const isRemote = component.spec?.clusterProfileRef !== undefined;
  if (namespace === undefined || !isRemote || recordedNamespace(component) === namespace) return {};
  return { [spokeNamespaceAnnotation]: namespace };
}

/**
 * Writes on the component of a report where it is installed, if it does not say so. To be done before the first write to the target: after a crash nothing else
 * may say where that went. A component that is gone needs no record.
 */
export async function recordNamespace(
  report: Pick<StatusReport, "latest" | "saw">,
  {
    client,
    namespace,
  }: { readonly client: Pick<KubeClient, "patch">; readonly namespace?: string },
  signal: AbortSignal,
): Promise<void> {
  const component = report.latest;
  const annotations = namespaceRecord(component, namespace);
  if (Object.keys(annotations).length === 0) return;
  // With its uid the patch meets no other component of the name.
  const patch = { metadata: { uid: component.metadata.uid, annotations } };
  try {
    const written = asComponent(await client.patch(refOf(component), patch, {}, signal));
    if (written !== undefined) report.saw(written);
  } catch (error) {
    if (!(error instanceof ApiError) || ![404, 409].includes(error.status)) throw error;
  }
}
