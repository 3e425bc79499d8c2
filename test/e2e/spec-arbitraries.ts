import {
  type Arbitrary,
  array,
  boolean,
  constant,
  constantFrom,
  oneof,
  record,
  subarray,
} from "fast-check";

import type { ComponentKind } from "../../api/component.ts";

export type Spec = Readonly<Record<string, unknown>>;

/** A spec on the way to the last one, and what is done before the next one comes. */
export interface Step {
  readonly spec: Spec;
  readonly next:
    | "wait until ready"
    | "go on at once"
    | "go on in the middle"
    | "kill the controller";
}

/** A way through the specs of one component, at the end of which it is waited for. */
export interface Walk {
  readonly steps: readonly Step[];
  readonly last: Spec;
}

/**
 * Walks whose versions are at most one minor apart, as they have to be. Specs differ in versions, ingresses, sources, config,
 * registry, replicas, overrides and further manifests, all of which any cluster with `standInDefinitions` can have.
 */
export function walkOf(kind: ComponentKind, manifestUrls: readonly string[]): Arbitrary<Walk> {
  return constantFrom(["1.21", "1.22"], ["1.22", "1.23"]).chain((minors) => {
    const spec = specOf(kind, constantFrom(...minors), manifestUrls);
    const step = record<Step>({ spec, next: continuation });
    return record({ steps: array(step, { minLength: 1, maxLength: 4 }), last: spec });
  });
}

const continuation: Arbitrary<Step["next"]> = oneof(
  { weight: 5, arbitrary: constant("wait until ready" as const) },
  { weight: 2, arbitrary: constant("go on at once" as const) },
  { weight: 2, arbitrary: constant("go on in the middle" as const) },
  { weight: 1, arbitrary: constant("kill the controller" as const) },
);

const on = record({ enabled: boolean() });

function specOf(
  kind: ComponentKind,
  version: Arbitrary<string>,
  manifestUrls: readonly string[],
): Arbitrary<Spec> {
  return record({
    common: commonOf(kind, manifestUrls),
    own: kind === "KnativeServing" ? serving : eventing,
    version,
  }).map(({ common, own, version: target }) => ({ ...own, ...common, version: target }));
}

function commonOf(kind: ComponentKind, manifestUrls: readonly string[]): Arbitrary<Spec> {
  const [workload, setting] =
    kind === "KnativeServing"
      ? (["autoscaler", { deployment: { "progress-deadline": "300s" } }] as const)
      : (["imc-controller", { tracing: { backend: "none" } }] as const);
  const registry = constantFrom(
    { default: "registry.example.com/knative/${NAME}:pinned" },
    { override: { [`${workload}/controller`]: "registry.example.com/own:1" } },
    { imagePullSecrets: [{ name: "pull" }] },
  );
  const override = record(
    {
      name: constant(workload),
      replicas: constantFrom(1, 2),
      labels: constant({ "example.com/own": "yes" }),
      annotations: constant({ "example.com/note": "text" }),
      nodeSelector: constant({ "kubernetes.io/os": "linux" }),
    },
    { requiredKeys: ["name"] },
  );
  return record(
    {
      registry,
      config: constantFrom(setting, { logging: { "loglevel.controller": "debug" } }),
      "high-availability": constantFrom({ replicas: 2 }, { replicas: 3 }),
      workloads: array(override, { minLength: 1, maxLength: 1 }),
      additionalManifests: subarray([...manifestUrls], { minLength: 1 }).map((urls) =>
        urls.map((URL) => ({ URL })),
      ),
    },
    { requiredKeys: [] },
  );
}

const serving: Arbitrary<Spec> = record(
  {
    ingress: oneof(
      constantFrom("kourier", "istio", "contour", "gateway-api").map((name) => ({
        [name]: { enabled: true },
      })),
      record({ kourier: on, istio: on }),
    ),
    security: record({ securityGuard: on }),
    services: constant([{ name: "controller", labels: { "example.com/own": "yes" } }]),
  },
  { requiredKeys: ["ingress"] },
);

const eventing: Arbitrary<Spec> = record(
  {
    source: subarray(["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"], {
      minLength: 1,
      maxLength: 3,
    }).map((names) => Object.fromEntries(names.map((name) => [name, { enabled: true }]))),
    defaultBrokerClass: constant("MTChannelBasedBroker"),
    sinkBindingSelectionMode: constantFrom("inclusion", "exclusion"),
  },
  { requiredKeys: [] },
);
