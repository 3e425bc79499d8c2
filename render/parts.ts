import { type Component, componentKinds, type KnativeServing } from "../api/component.ts";
import { FleetError } from "../api/errors.ts";
import { minorOf } from "./release/version.ts";

/** The parts of a release that a component installs, in the order in which they are applied. */
export interface Parts {
  readonly component: string;
  /** Ingresses or event sources. */
  readonly extensions: readonly string[];
  /** Its objects take the place of the component's where both have one (D-10). */
  readonly guard?: string;
}

const ingressNames = ["istio", "kourier", "contour", "gateway-api"] as const;
const ingressOrder = ["istio", "contour", "kourier", "gateway-api"] as const;
const sourceNames = ["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"] as const;

export type IngressName = (typeof ingressNames)[number];

/** Version of the security guard for each minor of Serving. Spec: knative-operator.md 2.4. */
const guardVersions: Readonly<Record<string, string>> = {
  "1.20": "0.6",
  "1.21": "0.6",
  "1.22": "0.6",
  "1.23": "0.6",
};

/**
 * The ingresses of a component of Serving, in the order in which their transforms run. Istio when the spec names none
 * at all. Spec: knative-operator.md 1.3, 3.16.
 */
export function ingressesOf(spec: KnativeServing["spec"]): readonly IngressName[] {
  const ingress = spec?.ingress;
  if (ingress === undefined) return ["istio"];
  return ingressNames.filter((name) => ingress[name]?.enabled === true);
}

/** Whether a component of Serving has the security guard. */
export function isGuarded(spec: KnativeServing["spec"]): boolean {
  return spec?.security?.securityGuard.enabled === true;
}

/**
 * The parts for one version. `newest` is the newest numbered version, which stands for `latest` where a number is needed.
 * Throws FleetError ReleasePartNotFound when the version has no security guard. Spec: knative-operator.md 2.4.
 */
export function partsOf(component: Component, version: string, newest: string): Parts {
  const minor = minorOf(version);
  const main = `${componentKinds[component.kind].label}/${version}`;
  if (component.kind === "KnativeEventing") {
    const source = component.spec?.source;
    const enabled = sourceNames.filter((name) => source?.[name]?.enabled === true);
    return { component: main, extensions: enabled.map((one) => `eventing-source/${minor}/${one}`) };
  }
  const ingresses = ingressesOf(component.spec);
  const extensions = ingressOrder
    .filter((name) => ingresses.includes(name))
    .map((name) => `ingress/${minor}/${name}`);
  return isGuarded(component.spec)
    ? { component: main, extensions, guard: guardOf(version === "latest" ? newest : version) }
    : { component: main, extensions };
}

/** What `status.manifests` says: component, additional manifests, extensions, guard. Spec: knative-operator.md 2.7. */
export function pathsOf(
  { component, extensions, guard }: Parts,
  additional: readonly string[] = [],
): readonly string[] {
  const paths = [component, additional.join(","), extensions.join(","), guard ?? ""];
  return paths.filter((path) => path !== "");
}

function guardOf(version: string): string {
  const guard = guardVersions[minorOf(version)];
  if (guard === undefined) {
    throw new FleetError(
      "ReleasePartNotFound",
      `No version of the security guard belongs to Knative Serving ${version}`,
    );
  }
  return `security-guard/${guard}`;
}
