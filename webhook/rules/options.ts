import { isRecord, listAt, recordAt } from "../../api/fields.ts";
import { isLabelName, isSubdomain } from "./names.ts";
import {
  below,
  type Check,
  entriesOf,
  type Entry,
  type Fields,
  type Problem,
  problemIf,
  quoteValue,
  type Subject,
} from "./rule.ts";

/** A PodDisruptionBudget takes one of two values, a whole number or a percentage. Spec: knative-operator.md 3.11. */
export const disruptionBudgets: Check = ({ spec }) =>
  entriesOf(spec, "podDisruptionBudgets").flatMap(([entry, path]): readonly Problem[] => {
    const { minAvailable, maxUnavailable } = entry;
    const message = "minAvailable and maxUnavailable exclude each other; leave one of them out";
    return [
      ...problemIf(isGiven(minAvailable) && isGiven(maxUnavailable), path, message),
      ...amountProblems(minAvailable, below(path, "minAvailable")),
      ...amountProblems(maxUnavailable, below(path, "maxUnavailable")),
    ];
  });

function amountProblems(amount: unknown, path: string): readonly Problem[] {
  const isNumber = typeof amount === "number" && amount >= 0;
  const isPercentage = typeof amount === "string" && /^(?:\d{1,2}|0*100)%$/.test(amount);
  const message = `must be a whole number that is not negative, or a percentage such as 80% up to 100% (is ${quoteValue(amount)})`;
  return problemIf(isGiven(amount) && !isNumber && !isPercentage, path, message);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

const kourierPath = "spec.ingress.kourier";
const serviceTypes = ["ClusterIP", "LoadBalancer", "NodePort"];
const ports = { "http-port": "HTTPPort", "https-port": "HTTPSPort" } as const;
const maxPort = 65_535;

/** Kourier's options when it is switched on. */
function kourierOf({ kind, spec }: Subject): Fields | undefined {
  const options = recordAt(spec, "ingress", "kourier");
  return kind === "KnativeServing" && options["enabled"] === true ? options : undefined;
}

/** Kourier's options have to fit the type of its Service. Spec: knative-operator.md 3.16. */
export const kourierOptions: Check = (subject) => {
  const options = kourierOf(subject);
  if (options === undefined) return [];
  const { "service-type": wanted = "", "bootstrap-configmap": map } = options;
  const type = wanted === "" ? "LoadBalancer" : String(wanted);
  return [
    ...problemIf(
      !serviceTypes.includes(type),
      below(kourierPath, "service-type"),
      `must be ClusterIP, LoadBalancer or NodePort (is ${quoteValue(type)})`,
    ),
    ...addressProblems(options, type),
    ...portProblems(options, type),
    ...problemIf(
      typeof map === "string" && map !== "" && !isSubdomain(map),
      below(kourierPath, "bootstrap-configmap"),
      `must be the name of a ConfigMap (is ${quoteValue(map)})`,
    ),
  ];
};

function addressProblems(options: Fields, type: string): readonly Problem[] {
  const { "service-load-balancer-ip": address = "" } = options;
  const isMisfit = address !== "" && type !== "LoadBalancer" && serviceTypes.includes(type);
  if (!isMisfit) return [];
  return [misfit("service-load-balancer-ip", "LoadBalancerIP", { type, needed: "LoadBalancer" })];
}

function portProblems(options: Fields, type: string): readonly Problem[] {
  const { "http-port": httpPort, "https-port": httpsPort } = options;
  // Whether an unknown type takes ports is not known.
  const takesPorts = type === "NodePort" || !serviceTypes.includes(type);
  return [
    ...Object.entries(ports).flatMap(([field, option]): readonly Problem[] => {
      const port = options[field];
      if (typeof port !== "number" || port === 0) return [];
      if (port < 0 || port > maxPort) {
        const message = `must be a port from 1 to ${maxPort} (is ${port})`;
        return [{ path: below(kourierPath, field), message }];
      }
      return takesPorts ? [] : [misfit(field, option, { type, needed: "NodePort" })];
    }),
    ...problemIf(
      type === "NodePort" &&
        typeof httpPort === "number" &&
        httpPort !== 0 &&
        httpPort === httpsPort,
      below(kourierPath, "https-port"),
      "must be another port than http-port",
    ),
  ];
}

function misfit(
  field: string,
  option: string,
  { type, needed }: { readonly type: string; readonly needed: string },
): Problem {
  const message = `cannot configure ${option} for service type "${type}"; it needs service-type ${needed}`;
  return { path: below(kourierPath, field), message };
}

/** The ports are within the range that clusters have unless they are told otherwise. */
export const nodePorts: Check = (subject) => {
  const options = kourierOf(subject);
  if (options?.["service-type"] !== "NodePort") return [];
  return Object.keys(ports).flatMap((field) => {
    const port = options[field];
    const isUsual = typeof port !== "number" || port === 0 || (port >= 30_000 && port <= 32_767);
    const message =
      "is outside 30000 to 32767, the range that clusters have unless they are told otherwise";
    return problemIf(!isUsual, below(kourierPath, field), message);
  });
};

const certificateVolume = "custom-certs-";

/** Certificates come from a named ConfigMap or Secret. Spec: knative-operator.md 3.15. */
export const customCertificates: Check = ({ kind, spec }) => {
  const { type, name } = recordAt(spec, "controller-custom-certs");
  if (kind !== "KnativeServing" || (type === "" && name === "")) return [];
  const path = "spec.controller-custom-certs";
  return [
    ...problemIf(
      typeof type === "string" && type !== "ConfigMap" && type !== "Secret",
      `${path}.type`,
      `must be ConfigMap or Secret (is ${quoteValue(type)})`,
    ),
    ...problemIf(
      typeof name === "string" && !isLabelName(`${certificateVolume}${name}`),
      `${path}.name`,
      `must be the name of a ConfigMap or Secret, at most ${63 - certificateVolume.length} characters without a full stop, because a volume has it, too (is ${quoteValue(name)})`,
    ),
  ];
};

const gateways = ["knative-ingress-gateway", "knative-local-gateway"] as const;
const protocolFields = ["minProtocolVersion", "maxProtocolVersion"] as const;

/** TLS versions of Istio's Gateways are numbers from 0 to 4. Spec: knative-operator.md 3.16. */
export const istioOptions: Check = ({ kind, spec }) => {
  if (kind !== "KnativeServing") return [];
  return gateways.flatMap((gateway) => {
    const path = below("spec", "ingress", "istio", gateway, "servers");
    const servers = listAt(recordAt(spec, "ingress", "istio", gateway), "servers");
    return servers.flatMap((server, index) =>
      protocolFields.flatMap((field) => {
        const version = recordAt(server, "tls")[field];
        return problemIf(
          typeof version === "number" && !(version >= 0 && version <= 4),
          below(path, index, "tls", field),
          `must be a number from 0 to 4, for automatic and TLS 1.0 to 1.3 (is ${String(version)})`,
        );
      }),
    );
  });
};

// More than any cluster has; the sum of two still fits into an int32, which autoscalers need.
const maxReplicas = 1_000_000;

/** Numbers of replicas are neither negative nor larger than any cluster can run. */
export const replicas: Check = ({ spec }) => {
  const all: readonly Entry[] = [
    [recordAt(spec, "high-availability"), "spec.high-availability"],
    ...entriesOf(spec, "deployments"),
    ...entriesOf(spec, "workloads"),
  ];
  return all.flatMap(([{ replicas: count }, path]) => {
    if (typeof count !== "number" || (count >= 0 && count <= maxReplicas)) return [];
    const message = count < 0 ? "must not be negative" : `must be at most ${maxReplicas}`;
    return [{ path: below(path, "replicas"), message: `${message} (is ${count})` }];
  });
};

/** The ingress section switches an ingress on. */
export const noIngress: Check = ({ kind, spec }) => {
  const { ingress } = spec;
  if (kind !== "KnativeServing" || !isRecord(ingress)) return [];
  const isOn = Object.values(ingress).some((one) => recordAt(one)["enabled"] === true);
  const message =
    "no ingress is enabled, so none is installed; leave the section out for Istio, or set enabled: true in one of them";
  return problemIf(!isOn, "spec.ingress", message);
};

const selectionModes = ["", "inclusion", "exclusion"];

/** Knative knows the selection mode. */
export const selectionMode: Check = ({ kind, spec }) => {
  const mode = spec["sinkBindingSelectionMode"];
  return problemIf(
    kind === "KnativeEventing" && typeof mode === "string" && !selectionModes.includes(mode),
    "spec.sinkBindingSelectionMode",
    `inclusion and exclusion are the words that Knative knows (is ${quoteValue(mode)})`,
  );
};
