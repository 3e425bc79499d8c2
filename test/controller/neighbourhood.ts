import type { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Component, ComponentKind } from "../../api/component.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import type { Target } from "../../controller/target/target.ts";
import { anchorManifest } from "../../installation/anchor-object.ts";
import { encodeInventory } from "../../installation/inventory.ts";
import { eventing, serving } from "./apply/installer.ts";

export const hubId = "hub-a";
export const role: Manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shared" } };

export function component(kind: ComponentKind, namespace: string, profile = "one"): Component {
  const made = kind === "KnativeServing" ? serving : eventing;
  const clusterProfileRef = { namespace: "fleet", name: profile };
  return made({ clusterProfileRef }, { namespace, uid: `${kind} ${namespace}` });
}

export interface Cluster {
  readonly uid?: string;
  readonly roots?: readonly KubeObject[];
  /** As they were before the newcomer's own was made. */
  readonly before?: readonly KubeObject[];
  /** Answer to all questions. */
  readonly refusal?: ApiError;
  /** Answer to the question which cluster it is. */
  readonly unnamed?: ApiError;
  /** Answer to the question what was there before. */
  readonly forgotten?: ApiError;
  /** Told of each question who it is. */
  readonly onAsked?: () => void;
}

/** Where a component goes: a cluster that answers as it is told. */
export function targetOf(
  { metadata: { namespace }, spec }: Component,
  { uid = "cluster", roots = [], before = [], onAsked = () => undefined, ...rest }: Cluster = {},
): Target {
  const { refusal, unnamed, forgotten } = rest;
  const asked = async <T>(answer: T, instead = refusal): Promise<T> => {
    if (instead !== undefined) throw instead;
    return answer;
  };
  const identity = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "kube-system", uid, resourceVersion: "1" },
  };
  const answers: Pick<KubeClient, "get" | "list" | "request"> = {
    request: () => asked({ items: before }, forgotten ?? refusal),
    get: () => {
      onAsked();
      return asked(identity, unnamed ?? refusal);
    },
    list: () => asked({ items: roots, resourceVersion: "1" }),
  };
  const profile = spec?.clusterProfileRef;
  return {
    client: Object.assign(Object.create(null), answers),
    namespace,
    hubId,
    fieldManager: "knfleet-a",
    ...(profile === undefined ? {} : { profile }),
  };
}

// oxlint-disable-next-line max-params -- whose it is, what it says, and of what sort
export function madeAnchor(
  of: Component,
  inventory: readonly Manifest[] | undefined,
  hub = hubId,
  fingerprint?: string,
) {
  const target = { namespace: of.metadata.namespace, hubId: hub, ...profileOf(of) };
  const entries = inventory?.map(({ apiVersion, kind, metadata: { namespace, name = "" } }) => ({
    apiVersion,
    kind,
    name,
    hash: "",
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(namespace === undefined ? {} : { namespace }),
  }));
  const text = entries && encodeInventory({ version: "1.23.0", complete: true, entries });
  const manifest = anchorManifest({ component: of, target }, text ?? "");
  const { name = "" } = manifest.metadata;
  return {
    ...manifest,
    metadata: { ...manifest.metadata, name, uid: "root", resourceVersion: "1" },
  };
}

function profileOf({ spec }: Component) {
  const profile = spec?.clusterProfileRef;
  return profile === undefined ? {} : { profile };
}

export const bornAt = (creationTimestamp: string, root: KubeObject, uid: string): KubeObject => ({
  ...root,
  metadata: { ...root.metadata, uid, creationTimestamp },
});
