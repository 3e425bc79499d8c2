import type { Condition, KubeObject, ObjectMeta } from "./kubernetes.ts";
import type { KnativeEventingSpec, KnativeServingSpec } from "./schema/component-spec.ts";

export const operatorApiVersion = "operator.knative.dev/v1beta1";

/** Reference to the ClusterProfile whose cluster a component is installed on. */
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

/** Identity of a component on the hub. */
export interface ComponentKey {
  readonly kind: ComponentKind;
  readonly namespace: string;
  readonly name: string;
}

/** Names that differ between the two kinds. Spec: knative-operator.md 1. */
export interface ComponentKindFacts {
  readonly plural: string;
  /** Finalizer on the hub object; the same as upstream's. */
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
