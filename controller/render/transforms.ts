import { type Component, componentKinds, type KnativeServing } from "../../api/component.ts";
import type { resourceFinder } from "../../api/resources.ts";
import { componentLabel } from "./component-label.ts";
import { configMaps } from "./config-maps.ts";
import { customCerts } from "./custom-certs.ts";
import { deprecatedResources } from "./deprecated-resources.ts";
import { gatewayServices } from "./gateway-services.ts";
import { highAvailability } from "./high-availability.ts";
import { images } from "./images.ts";
import { jobs, withoutGenerateName } from "./jobs.ts";
import { kourier } from "./kourier.ts";
import { kubernetesMinVersion } from "./kubernetes-min-version.ts";
import { namespaceLabels } from "./namespace-labels.ts";
import { inNamespace } from "./namespace.ts";
import { ingressesOf } from "./parts.ts";
import { podDisruptionBudgets } from "./pod-disruption-budgets.ts";
import { services } from "./services.ts";
import { inOrder, type Transform } from "./transform.ts";
import { workloads } from "./workloads.ts";

/** What transforms need to know besides the component. */
export interface Target {
  readonly version: string;
  readonly resourceOf: ReturnType<typeof resourceFinder>;
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
  const overrides = [...(spec.deployments ?? []), ...(spec.workloads ?? [])];
  const { label, short } = componentKinds[component.kind];
  return inOrder([
    inNamespace(namespace, target.resourceOf), // 1
    namespaceLabels([spec.namespaceConfiguration, spec.namespace]), // 2
    highAvailability(spec["high-availability"]?.replicas, overrides), // 3
    images(spec.registry), // 4
    jobs(short, target.version), // 5
    configMaps(spec.config ?? {}), // 6
    kubernetesMinVersion(target.environment?.["KUBERNETES_MIN_VERSION"]), // 7
    deprecatedResources(spec.resources, overrides), // 8
    workloads(overrides), // 9
    services(spec.services), // 10
    podDisruptionBudgets(spec.podDisruptionBudgets), // 11
    customCerts(component), // 14 of Serving
    componentLabel(label), // 15 of Serving, 17 of Eventing
    ...(component.kind === "KnativeServing" ? servingTransforms(component) : []),
    withoutGenerateName,
  ]);
}

function servingTransforms({ spec, metadata }: KnativeServing): readonly Transform[] {
  const { namespace } = metadata;
  const config = spec?.config ?? {};
  const guarded = spec?.security?.securityGuard.enabled === true;
  return [
    ...(ingressesOf(spec).includes("kourier")
      ? [kourier(spec?.ingress?.kourier ?? {}, namespace)] // 17
      : []),
    gatewayServices({ config, istio: spec?.ingress?.istio, namespace }), // 18
    ...(guarded
      ? [configMaps({ "config-features": { "queueproxy.mount-podinfo": "allowed" } })] // 19
      : []),
  ];
}
