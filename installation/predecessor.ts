import type { Component } from "../api/component.ts";
import { deliveryAnnotation, pulledAnnotations } from "../api/delivery.ts";
import type { KubeObject } from "../api/kubernetes.ts";
import type { AnchorOwner } from "./anchor-object.ts";
import { anchorAnnotations } from "./anchor.ts";

/** The controller that has managed an installation so far: that of the hub before a component is pulled, that of the spoke afterwards. */
export interface Predecessor {
  /** UID of the kube-system namespace of its own cluster. */
  readonly hubId: string;
  /** Uid of the component on that cluster. */
  readonly componentUid: string;
  /**
   * This controller writes nothing any more. The controller of the hub stops before it sends the component to the spoke. The controller of the spoke
   * says so on the anchor.
   */
  readonly hasLetGo: boolean;
}

/** The controller that managed the installation of a component so far. Undefined for an anchor that no other controller made for this component. */
export function predecessorOf(
  { metadata: { annotations = {} } }: Pick<KubeObject, "metadata">,
  { component, target }: AnchorOwner,
): Predecessor | undefined {
  const hubId = annotations[anchorAnnotations.hubId];
  const componentUid = annotations[anchorAnnotations.componentUid];
  if (hubId === undefined || componentUid === undefined || hubId === target.hubId) return undefined;
  if (target.profile === undefined) {
    const pulled = component.metadata.annotations ?? {};
    const isSame =
      pulled[pulledAnnotations.hubId] === hubId &&
      pulled[pulledAnnotations.hubComponentUid] === componentUid;
    return isSame ? { hubId, componentUid, hasLetGo: true } : undefined;
  }
  const isSame =
    annotations[pulledAnnotations.hubId] === target.hubId &&
    annotations[pulledAnnotations.hubComponentUid] === component.metadata.uid;
  const hasLetGo = annotations[anchorAnnotations.letGo] === "true";
  return isSame ? { hubId, componentUid, hasLetGo } : undefined;
}

/** Whether a work brought a component to this cluster, and the hub is to install it itself from now on. */
export function isHandedBack({ metadata: { annotations = {} } }: Component): boolean {
  return (
    annotations[pulledAnnotations.hubComponentUid] !== undefined &&
    annotations[deliveryAnnotation] === "Push"
  );
}
