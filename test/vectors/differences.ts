import type { CaseOutcome } from "./render-case.ts";
import type { RenderCase } from "./render-cases.ts";

/** A field in which an object differs from upstream's. */
export interface FieldDifference {
  readonly path: readonly string[];
  readonly expected: unknown;
  readonly actual: unknown;
}

/** A field with the object around it; an absent object is undefined, its path is empty then. */
interface ObjectDifference extends FieldDifference {
  readonly id: string;
}

/** What is different on purpose; docs/upstream-differences.md says why. */
interface FieldRule {
  readonly defect: string;
  readonly applies: (difference: ObjectDifference, outcome: CaseOutcome) => boolean;
}

const fieldRules: readonly FieldRule[] = [
  {
    // User pods get their queue-proxy from the registry, too.
    defect: "D-61",
    applies: ({ id, path }, { component: { spec } }) =>
      id.endsWith("|config-deployment") &&
      path.join(".") === "data.queue-sidecar-image" &&
      spec?.registry !== undefined,
  },
  {
    // Variables and ConfigMaps with images follow the registry, and so do init containers.
    defect: "D-62",
    applies: ({ id, path, expected }, { component: { spec } }) =>
      spec?.registry !== undefined &&
      typeof expected === "string" &&
      ((path.at(-1) === "value" && path.includes("env")) ||
        (path.at(-1) === "image" && path.includes("initContainers")) ||
        (id.includes("|ConfigMap|") && path[0] === "data")),
  },
  {
    // Cluster-scoped objects have neither namespace nor owner.
    defect: "D-19",
    applies: ({ id, path }) =>
      isForeignClusterKind(id) && path.join(".") === "metadata.ownerReferences",
  },
  {
    // TLS follows what the ConfigMap says: certificates are there exactly when it is on.
    defect: "D-40",
    applies: ({ id }, { component }) =>
      id.startsWith("cert-manager.io|") &&
      component.spec?.config?.["features"] !== undefined &&
      component.spec.config["config-features"] !== undefined,
  },
  {
    // The replicas of a broker's workload override win over high availability, as they do for every other workload.
    defect: "D-40",
    applies: ({ id, path }, { component }) =>
      /\|HorizontalPodAutoscaler\|.*\|broker-(?:ingress|filter)-hpa$/.test(id) &&
      ["spec.minReplicas", "spec.maxReplicas"].includes(path.join(".")) &&
      component.spec?.["high-availability"] !== undefined,
  },
  {
    // An override without a name hits nothing.
    defect: "D-38",
    applies: ({ id }, { component: { spec } }) =>
      id.startsWith("batch|Job|") &&
      [...(spec?.deployments ?? []), ...(spec?.workloads ?? [])].some(({ name }) => name === ""),
  },
  {
    // Texts of the release follow the namespace of the installation.
    defect: "D-41",
    applies: ({ id, path, expected, actual }, { component }) =>
      component.metadata.namespace !== "knative-eventing" &&
      ((id.endsWith("|config-br-defaults") && path.at(-1) === "namespace") ||
        (id.startsWith("cert-manager.io|Certificate|") && path.includes("dnsNames")) ||
        (id.endsWith("|kafka-controller") &&
          path.some((part) => part.endsWith("_MAP_NAMESPACE"))) ||
        (component.kind === "KnativeEventing" &&
          id.startsWith("admissionregistration.k8s.io|") &&
          path.includes("namespaceSelector") &&
          expected === "knative-eventing" &&
          actual === component.metadata.namespace)),
  },
  {
    // The only ingress is the one that Serving uses.
    defect: "D-59",
    applies: ({ id, path, expected }) =>
      id.endsWith("|config-network") &&
      path.join(".") === "data.ingress-class" &&
      expected === undefined,
  },
  {
    // Fields that upstream's types do not know are kept.
    defect: "D-27",
    applies: ({ id, expected }) =>
      id.startsWith("networking.istio.io|Gateway|") && expected === undefined,
  },
  {
    // The owner is set after all patches.
    defect: "patched owner",
    applies: ({ path, expected }, { component }) =>
      expected === undefined &&
      path.join(".") === "metadata.ownerReferences" &&
      (component.spec?.patches ?? []).length > 0,
  },
  {
    defect: "N-4",
    applies: ({ id, path }) =>
      id.endsWith("|pingsource-mt-adapter") && path.includes("K_OBSERVABILITY_CONFIG"),
  },
];

/** The rule by which a field may differ; undefined when there is none. */
export function fieldDifference(
  difference: ObjectDifference,
  outcome: CaseOutcome,
): string | undefined {
  return fieldRules.find(({ applies }) => applies(difference, outcome))?.defect;
}

interface ErrorRule {
  readonly defect: string;
  readonly applies: (expected: RenderCase["expected"], outcome: CaseOutcome) => boolean;
}

const errorRules: readonly ErrorRule[] = [
  // A crash of upstream is an ordinary error here, or no error at all.
  { defect: "D-37", applies: ({ panic }) => panic === true },
  {
    // A leading v is accepted.
    defect: "D-35",
    applies: (_, { component, rendered }) =>
      rendered !== undefined && component.spec?.version === `v${rendered.version}`,
  },
  {
    // A probe without a handler, which an API server refuses, is refused here.
    defect: "D-39",
    applies: ({ error }, outcome) =>
      error === undefined && /Probe in its container/.test(outcome.error?.message ?? ""),
  },
  { defect: "N-1", applies: ({ error = "" }) => error.startsWith(".rules accessor error") },
  {
    defect: "N-2",
    applies: ({ error = "" }) =>
      /no kind "Gateway" is registered for version "networking.istio.io/.test(error),
  },
  {
    defect: "N-3",
    applies: ({ error = "" }) => /^failed to convert Unstructured to \w+: no kind /.test(error),
  },
  {
    // A workload that does not fit the typed API may be accepted or refused.
    defect: "D-27",
    applies: ({ error = "" }) => /^failed to convert Unstructured to \w+: unable /.test(error),
  },
  {
    // Texts that mislead are other texts here.
    defect: "D-58",
    applies: ({ error = "" }, outcome) =>
      outcome.error !== undefined &&
      error.includes("are not available to this release") &&
      (outcome.component.spec?.additionalManifests?.length ?? 0) > 0,
  },
  {
    // The YAML parser has words of its own.
    defect: "D-58",
    applies: ({ error = "" }, outcome) =>
      error.startsWith("Failed to parse the entry: ") &&
      outcome.error?.message.startsWith("Failed to parse the entry: ") === true,
  },
  {
    // An object that upstream has twice is one here, and can be patched.
    defect: "patched twins",
    applies: ({ error = "" }, { rendered }) =>
      rendered !== undefined &&
      /^patch \d+ target .*: matched \d+ generated resources; specify target.namespace$/.test(
        error,
      ),
  },
  {
    // By owners, finalizers and labels of its own knfleet finds an installation again.
    defect: "patched owner",
    applies: ({ error }, outcome) =>
      error === undefined &&
      /^patch \d+ target .*: metadata\.\w+ belongs to knfleet and cannot be patched$/.test(
        outcome.error?.message ?? "",
      ),
  },
  {
    // Seen only once everything is applied, which rendering does not do.
    defect: "after apply",
    applies: ({ phase }) => phase === "after-apply",
  },
];

/** The rule by which an error may be another one, or none; undefined when there is none. */
export function errorDifference(
  expected: RenderCase["expected"],
  outcome: CaseOutcome,
): string | undefined {
  return errorRules.find(({ applies }) => applies(expected, outcome))?.defect;
}

/** Cluster-scoped kinds that upstream takes for namespaced ones (D-19). */
export function isForeignClusterKind(id: string): boolean {
  return /^[\w.-]*\|(?:IngressClass|ClusterIssuer|GatewayClass|RuntimeClass|ClusterPolicy|(?:Validating|Mutating)AdmissionPolicy(?:Binding)?|ClusterTrustBundle|Bundle|FlowSchema|PriorityLevelConfiguration|CSIDriver|CSINode|DeviceClass)\|/.test(
    id,
  );
}
