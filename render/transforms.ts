import {
  type Component,
  type KnativeEventing,
  type KnativeServing,
  componentKinds,
} from "../api/component.ts";
import type { resourceFinder } from "../api/resources.ts";
import { defaultBroker, namespaceInTexts, sinkBindingMode } from "./features/eventing.ts";
import { gatewayServices, istioGateways } from "./features/istio.ts";
import { kourier } from "./features/kourier.ts";
import {
  configMaps,
  podDisruptionBudgets,
  refuseShortConfigMaps,
  services,
} from "./features/named-objects.ts";
import { customCerts, ingressClass } from "./features/serving.ts";
import { type Transform, setEntries } from "./fields.ts";
import { inNamespace, namespaceLabels } from "./namespace.ts";
import { ingressesOf, isGuarded } from "./parts.ts";
import { images } from "./workloads/images.ts";
import { kubernetesMinVersion, type WorkloadOverride } from "./workloads/pod-template.ts";
import { highAvailability } from "./workloads/scaling.ts";
import {
  deprecatedResources,
  jobs,
  withoutGenerateName,
  workloads,
} from "./workloads/workloads.ts";

/** What transforms need to know besides the component. */
export interface Target {
  readonly version: string;
  readonly resourceOf: ReturnType<typeof resourceFinder>;
  /** The workloads that go without their autoscaler (`stoppedWorkloads`). */
  readonly stopped?: ReadonlySet<string>;
  /** Of `sharedImageNames`. */
  readonly sharedImages?: ReadonlySet<string>;
  /** Of the controller. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Folds the spec of a component into an object of its release. The order is upstream's; the numbers are those of its table.
 * Spec: knative-operator.md 3.
 */
export function transformOf(component: Component, target: Target): Transform {
  const { namespace } = component.metadata;
  const spec: NonNullable<Component["spec"]> = component.spec ?? {};
  const overrides = overridesOf(component);
  const { label, short } = componentKinds[component.kind];
  const transforms = [
    inNamespace(namespace, target.resourceOf), // 1
    ...(component.kind === "KnativeEventing" ? [namespaceInTexts(namespace)] : []),
    namespaceLabels([spec.namespaceConfiguration, spec.namespace]), // 2
    highAvailability(spec["high-availability"]?.replicas, overrides), // 3
    images(spec.registry, target.sharedImages), // 4
    jobs(short, target.version), // 5
    refuseShortConfigMaps(spec.config ?? {}), // 6
    configMaps(spec.config ?? {}), // 6
    kubernetesMinVersion(target.environment?.["KUBERNETES_MIN_VERSION"]), // 7
    deprecatedResources(spec.resources, overrides), // 8
    workloads(overrides, target.stopped), // 9
    services(spec.services), // 10
    podDisruptionBudgets(spec.podDisruptionBudgets), // 11
    customCerts(component), // 14 of Serving
    componentLabel(label), // 15 of Serving, 17 of Eventing
    ...(component.kind === "KnativeServing"
      ? servingTransforms(component)
      : eventingTransforms(component)),
    withoutGenerateName,
  ];
  return (manifest) => transforms.reduce((current, transform) => transform(current), manifest);
}

/** The overrides of workloads in their order. */
export function overridesOf({ spec }: Component): readonly WorkloadOverride[] {
  return [...(spec?.deployments ?? []), ...(spec?.workloads ?? [])];
}

function servingTransforms({ spec, metadata }: KnativeServing): readonly Transform[] {
  const { namespace } = metadata;
  const { istio, kourier: kourierOptions = {} } = spec?.ingress ?? {};
  const ingresses = ingressesOf(spec);
  return [
    ingressClass(spec),
    ...(ingresses.includes("istio") ? [istioGateways(istio ?? {})] : []), // 17
    ...(ingresses.includes("kourier") ? [kourier(kourierOptions, namespace)] : []), // 17
    gatewayServices({ config: spec?.config ?? {}, istio, namespace }), // 18
    ...(isGuarded(spec) ? [configMaps(guardFeatures)] : []), // 19
  ];
}

/** The guard reads where a pod's service account is mounted. Spec: knative-operator.md 3.17. */
const guardFeatures = { "config-features": { "queueproxy.mount-podinfo": "allowed" } };

function eventingTransforms({ spec = {} }: KnativeEventing): readonly Transform[] {
  return [
    defaultBroker(spec.defaultBrokerClass, spec.config ?? {}), // 14
    sinkBindingMode(spec), // 15
    // 16: installation/hand-over.ts treats the PingSource adapter, because its fields change owner on the cluster.
  ];
}

/** Sets `app.kubernetes.io/name`, which selects the objects of a component. Spec: knative-operator.md 3.14. */
export function componentLabel(value: string): Transform {
  return (manifest) =>
    setEntries(manifest, ["metadata", "labels"], { "app.kubernetes.io/name": value });
}
