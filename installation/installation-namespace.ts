import { type Component, componentKinds } from "../api/component.ts";

/**
 * Where components with a ClusterProfile are installed on their spoke: `Canonical` in `knative-serving` and `knative-eventing`, as upstream's operator does from 1.24
 * on; `Component` in the namespace that has the component's name on the hub.
 */
export const spokeNamespaceModes = ["Component", "Canonical"] as const;

export type SpokeNamespaceMode = (typeof spokeNamespaceModes)[number];

export const defaultSpokeNamespace: SpokeNamespaceMode = "Canonical";

/** On a component: the namespace of its installation on the spoke. The controller writes it before its first write to the spoke. */
export const spokeNamespaceAnnotation = "knfleet.dev/spoke-namespace";

type Placed = Pick<Component, "kind" | "metadata" | "spec">;

/** The namespaces in which a component can be installed. On the hub itself it is always the component's own. */
export function possibleNamespaces({ kind, metadata, spec }: Placed): readonly string[] {
  if (spec?.clusterProfileRef === undefined) return [metadata.namespace];
  // The label of a kind is the name of its canonical namespace, too.
  return [...new Set([componentKinds[kind].label, metadata.namespace])];
}

/** The namespace in the annotation of a component. Undefined without the annotation, and for a namespace that is not possible. */
export function recordedNamespace(component: Placed): string | undefined {
  const recorded = component.metadata.annotations?.[spokeNamespaceAnnotation];
  const isRemote = component.spec?.clusterProfileRef !== undefined;
  return isRemote ? possibleNamespaces(component).find((one) => one === recorded) : undefined;
}

/**
 * The namespace of a component's installation, present or future. `found`: namespaces of the target with an anchor of this component. A present or
 * begun installation stays where it is. The mode decides only for a new installation.
 */
export function installationNamespace(
  component: Placed,
  mode: SpokeNamespaceMode,
  found: readonly string[] = [],
): string {
  const [canonical = "", own] = possibleNamespaces(component);
  if (own === undefined) return canonical;
  const intended = recordedNamespace(component) ?? (mode === "Canonical" ? canonical : own);
  const [first = intended] = found;
  return found.includes(intended) ? intended : first;
}

/** The parts of an anchor that name its component. */
interface AnchorPlace {
  readonly namespace: string;
  /** Null: upstream's operator made it. */
  readonly componentUid: string | null;
}

/**
 * The namespaces of the anchors that show where a component is installed. Upstream's operator leaves the old anchor behind when it moves an
 * installation: its anchors count only when there are no others.
 */
export function anchoredNamespaces(anchors: readonly AnchorPlace[]): readonly string[] {
  const marked = anchors.filter(({ componentUid }) => componentUid !== null);
  return (marked.length > 0 ? marked : anchors).map(({ namespace }) => namespace);
}
