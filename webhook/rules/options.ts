import { isRecord, recordAt } from "../../api/fields.ts";
import { isLabelName, isSubdomain } from "./names.ts";
import {
  below,
  type Check,
  entriesOf,
  type Fields,
  type Problem,
  recordFields,
  shown,
} from "./rule.ts";

/** A PodDisruptionBudget takes one of two values, a whole number or a percentage. Spec: knative-operator.md 3.11. */
export const disruptionBudgets: Check = ({ spec }) =>
  entriesOf(spec, "podDisruptionBudgets").flatMap(([entry, path]): readonly Problem[] => {
    const { minAvailable, maxUnavailable } = entry;
    const message = "minAvailable and maxUnavailable exclude each other; leave one of them out";
    return [
      ...(isGiven(minAvailable) && isGiven(maxUnavailable) ? [{ path, message }] : []),
      ...amountProblems(minAvailable, below(path, "minAvailable")),
      ...amountProblems(maxUnavailable, below(path, "maxUnavailable")),
    ];
  });

function amountProblems(amount: unknown, path: string): readonly Problem[] {
  const isNumber = typeof amount === "number" && amount >= 0;
  const isPercentage = typeof amount === "string" && /^(?:\d{1,2}|0*100)%$/.test(amount);
  if (!isGiven(amount) || isNumber || isPercentage) return [];
  const message = `must be a whole number that is not negative, or a percentage such as 80% up to 100% (is ${shown(amount)})`;
  return [{ path, message }];
}

const serviceTypes = ["ClusterIP", "LoadBalancer", "NodePort"];
const maxPort = 65_535;

/** Kourier's options have to fit the type of its Service. Spec: knative-operator.md 3.16. */
export const kourierOptions: Check = ({ kind, spec }) => {
  const options = recordAt(spec, "ingress", "kourier");
  if (kind !== "KnativeServing" || options["enabled"] !== true) return [];
  const { "service-type": wanted = "", "service-load-balancer-ip": address = "" } = options;
  const type = wanted === "" ? "LoadBalancer" : String(wanted);
  const isKnown = serviceTypes.includes(type);
  const message = `must be ClusterIP, LoadBalancer or NodePort (is ${shown(type)})`;
  return [
    ...(isKnown ? [] : [{ path: below(kourierPath, "service-type"), message }]),
    ...(address === "" || type === "LoadBalancer" || !isKnown
      ? []
      : [misfit("service-load-balancer-ip", "LoadBalancerIP", { type, needed: "LoadBalancer" })]),
    ...portProblems(options["http-port"], "http-port", { type, option: "HTTPPort" }),
    ...portProblems(options["https-port"], "https-port", { type, option: "HTTPSPort" }),
    ...(type === "NodePort" && isSamePort(options) ? [samePort] : []),
    ...bootstrapProblems(options["bootstrap-configmap"]),
  ];
};

/** Ports outside the range that clusters have unless they are told otherwise. */
export const nodePorts: Check = ({ kind, spec }) => {
  const options = recordAt(spec, "ingress", "kourier");
  const isOn = kind === "KnativeServing" && options["enabled"] === true;
  if (!isOn || options["service-type"] !== "NodePort") return [];
  return ["http-port", "https-port"].flatMap((field) => {
    const port = options[field];
    const isUsual = typeof port !== "number" || port === 0 || (port >= 30_000 && port <= 32_767);
    const message =
      "is outside 30000 to 32767, the range that clusters have unless they are told otherwise";
    return isUsual ? [] : [{ path: below(kourierPath, field), message }];
  });
};

const kourierPath = "spec.ingress.kourier";
const samePort: Problem = {
  path: `${kourierPath}.https-port`,
  message: "must be another port than http-port",
};

function isSamePort(options: Fields): boolean {
  const port = options["http-port"];
  return typeof port === "number" && port !== 0 && port === options["https-port"];
}

function bootstrapProblems(name: unknown): readonly Problem[] {
  if (typeof name !== "string" || name === "" || isSubdomain(name)) return [];
  const message = `must be the name of a ConfigMap (is ${shown(name)})`;
  return [{ path: below(kourierPath, "bootstrap-configmap"), message }];
}

function portProblems(
  port: unknown,
  field: string,
  { type, option }: { readonly type: string; readonly option: string },
): readonly Problem[] {
  if (typeof port !== "number" || port === 0) return [];
  if (port < 0 || port > maxPort) {
    const message = `must be a port from 1 to ${maxPort} (is ${port})`;
    return [{ path: below(kourierPath, field), message }];
  }
  // Nobody knows what an unknown type would take.
  const fits = type === "NodePort" || !serviceTypes.includes(type);
  return fits ? [] : [misfit(field, option, { type, needed: "NodePort" })];
}

function misfit(
  field: string,
  option: string,
  { type, needed }: { readonly type: string; readonly needed: string },
): Problem {
  const message = `cannot configure ${option} for service type "${type}"; it needs service-type ${needed}`;
  return { path: below(kourierPath, field), message };
}

const certificateVolume = "custom-certs-";

/** Certificates come from a named ConfigMap or Secret. Spec: knative-operator.md 3.15. */
export const customCertificates: Check = ({ kind, spec }) => {
  const certs = spec["controller-custom-certs"];
  if (kind !== "KnativeServing" || !isRecord(certs)) return [];
  const { type, name } = certs;
  if (type === "" && name === "") return [];
  const path = "spec.controller-custom-certs";
  const problems: Problem[] = [];
  if (typeof type === "string" && type !== "ConfigMap" && type !== "Secret") {
    problems.push({
      path: `${path}.type`,
      message: `must be ConfigMap or Secret (is ${shown(type)})`,
    });
  }
  if (typeof name === "string" && !isLabelName(`${certificateVolume}${name}`)) {
    problems.push({
      path: `${path}.name`,
      message: `must be the name of a ConfigMap or Secret, at most ${63 - certificateVolume.length} characters without a full stop, because a volume has it, too (is ${shown(name)})`,
    });
  }
  return problems;
};

const gateways = ["knative-ingress-gateway", "knative-local-gateway"] as const;
const protocolFields = ["minProtocolVersion", "maxProtocolVersion"] as const;

/** TLS versions of Istio's Gateways are numbers from 0 to 4. Spec: knative-operator.md 3.16. */
export const istioOptions: Check = ({ kind, spec }) => {
  if (kind !== "KnativeServing") return [];
  return gateways.flatMap((gateway) => {
    const settings = recordAt(spec, "ingress", "istio", gateway);
    const path = below("spec", "ingress", "istio", gateway, "servers");
    const servers: readonly unknown[] = Array.isArray(settings["servers"])
      ? settings["servers"]
      : [];
    return servers.flatMap((server, index) => {
      const tls = recordAt(server, "tls");
      return protocolFields.flatMap((field) => {
        const version = tls[field];
        if (typeof version !== "number" || (version >= 0 && version <= 4)) return [];
        const message = `must be a number from 0 to 4, for automatic and TLS 1.0 to 1.3 (is ${version})`;
        return [{ path: below(path, index, "tls", field), message }];
      });
    });
  });
};

// More than any cluster has; the sum of two still fits into an int32, which autoscalers need.
const maxReplicas = 1_000_000;

/** Numbers of replicas are neither negative nor beyond all measure. */
export const replicas: Check = ({ spec }) => {
  const high = recordFields(spec["high-availability"]);
  const all: readonly (readonly [Fields, string])[] = [
    [high, "spec.high-availability"],
    ...entriesOf(spec, "deployments"),
    ...entriesOf(spec, "workloads"),
  ];
  return all.flatMap(([entry, path]) => {
    const count = entry["replicas"];
    if (typeof count !== "number" || (count >= 0 && count <= maxReplicas)) return [];
    const message = count < 0 ? "must not be negative" : `must be at most ${maxReplicas}`;
    return [{ path: below(path, "replicas"), message: `${message} (is ${count})` }];
  });
};

/** An ingress section that switches nothing on. */
export const noIngress: Check = ({ kind, spec }) => {
  const { ingress } = spec;
  if (kind !== "KnativeServing" || !isRecord(ingress)) return [];
  const isOn = Object.values(ingress).some((one) => recordFields(one)["enabled"] === true);
  const message =
    "no ingress is enabled, so none is installed; leave the section out for Istio, or set enabled: true in one of them";
  return isOn ? [] : [{ path: "spec.ingress", message }];
};

/** A word that Knative does not know. */
export const selectionMode: Check = ({ kind, spec }) => {
  const mode = spec["sinkBindingSelectionMode"];
  if (kind !== "KnativeEventing" || typeof mode !== "string") return [];
  if (["", "inclusion", "exclusion"].includes(mode)) return [];
  const message = `inclusion and exclusion are the words that Knative knows (is ${shown(mode)})`;
  return [{ path: "spec.sinkBindingSelectionMode", message }];
};

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
