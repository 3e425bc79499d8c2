import { type Condition, isMarked, type KubeObject, type ObjectMeta } from "./kubernetes.ts";
import type { KnativeEventingSpec, KnativeServingSpec } from "./schema/component-spec.ts";

export const operatorApiVersion = "operator.knative.dev/v1beta1";

/** Reference to the ClusterProfile of the cluster on which a component is installed. */
export interface ClusterProfileRef {
  readonly name: string;
  readonly namespace: string;
}

/** Status of a component, as upstream writes it. Spec: knative-operator.md 1.5. */
export interface ComponentStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly version?: string;
  readonly manifests?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
}

type ComponentObject<Kind extends string, Spec> = KubeObject & {
  readonly apiVersion: typeof operatorApiVersion;
  readonly kind: Kind;
  readonly metadata: ObjectMeta & {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly spec?: Spec;
  readonly status?: ComponentStatus;
};

export type KnativeServing = ComponentObject<"KnativeServing", KnativeServingSpec>;
export type KnativeEventing = ComponentObject<"KnativeEventing", KnativeEventingSpec>;
export type Component = KnativeServing | KnativeEventing;
export type ComponentKind = Component["kind"];

export const allKinds: readonly ComponentKind[] = ["KnativeServing", "KnativeEventing"];

/** Whether a kind is that of a component. */
export function isComponentKind(kind: string): kind is ComponentKind {
  return allKinds.some((one) => one === kind);
}

/** Identity of a component on the hub. */
export interface ComponentKey {
  readonly kind: ComponentKind;
  readonly namespace: string;
  readonly name: string;
}

/** Names that differ between the two kinds. Spec: knative-operator.md 1. */
export interface ComponentKindFacts {
  readonly plural: string;
  /** Finalizer on the hub object; equal to upstream's. */
  readonly finalizer: string;
  /** Value of `app.kubernetes.io/name` on every installed object, and folder of the component in a release directory. */
  readonly label: "knative-serving" | "knative-eventing";
  /** Short name in generated Job names. */
  readonly short: "serving" | "eventing";
  /** `source.component` of Events. */
  readonly eventSource: string;
}

export const componentKinds: Readonly<Record<ComponentKind, ComponentKindFacts>> = {
  KnativeServing: {
    plural: "knativeservings",
    finalizer: "knativeservings.operator.knative.dev",
    label: "knative-serving",
    short: "serving",
    eventSource: "knativeserving-controller",
  },
  KnativeEventing: {
    plural: "knativeeventings",
    finalizer: "knativeeventings.operator.knative.dev",
    label: "knative-eventing",
    short: "eventing",
    eventSource: "knativeeventing-controller",
  },
};

export function componentKeyOf(component: Component): ComponentKey {
  const { namespace, name } = component.metadata;
  return { kind: component.kind, namespace, name };
}

/** A version of Knative without the `v` in front of it. */
export function withoutV(version: string): string {
  return version.replace(/^v(?=\d)/, "");
}

/** Annotation of a component that is not to be uninstalled while objects of its kinds are left. */
export const keepWhileUsedAnnotation = "knfleet.dev/keep-while-used";

/** Whether a component has the annotation, with any value but `false`. */
export function isKeptWhileUsed({ metadata }: Pick<Component, "metadata">): boolean {
  return isMarked(metadata.annotations?.[keepWhileUsedAnnotation]);
}

/** Ends the removal of a component without its installation, which stays on the target. The value has to be the uid of the component. */
export const forceOrphanAnnotation = "knfleet.dev/force-orphan";

/** Whether the force-orphan annotation of a component is absent, granted, or refused and why. */
export type Orphaning =
  | { readonly kind: "unasked" | "granted" }
  | { readonly kind: "refused"; readonly message: string };

/**
 * Checks the force-orphan annotation of a component. Its value is the uid, so that a copied manifest cannot grant it. It is refused for components
 * on the hub itself: the hub is always reachable, and Kubernetes would still delete the objects that the component owns there.
 */
export function orphaningOf({ metadata, spec }: Component): Orphaning {
  const value = metadata.annotations?.[forceOrphanAnnotation];
  if (value === undefined) return { kind: "unasked" };
  if (spec?.clusterProfileRef === undefined) {
    const message = `${forceOrphanAnnotation} is ignored: it is only for components with spec.clusterProfileRef`;
    return { kind: "refused", message };
  }
  if (value === metadata.uid) return { kind: "granted" };
  const message = `${forceOrphanAnnotation} is ignored: it is not the uid of this component, ${metadata.uid}`;
  return { kind: "refused", message };
}
