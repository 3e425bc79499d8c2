import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { type Transform, changeField, setEntries } from "../fields.ts";

export type KourierOptions = NonNullable<NonNullable<KnativeServingSpec["ingress"]>["kourier"]>;

const controllers = ["net-kourier-controller", "3scale-kourier-control"];
const bootstrapName = "kourier-bootstrap";

/** Adapts Kourier to its namespace and applies its options. Spec: knative-operator.md 3.16. */
export function kourier(options: KourierOptions, namespace: string): Transform {
  return (manifest) => {
    const { name = "" } = manifest.metadata;
    switch (`${manifest.apiVersion} ${manifest.kind}`) {
      case "apps/v1 Deployment":
        if (controllers.includes(name)) return withGatewayNamespace(manifest, namespace);
        return name === "3scale-kourier-gateway" ? withBootstrap(manifest, options) : manifest;
      case "v1 ConfigMap":
        return name === bootstrapName ? withNamespaceInText(manifest, namespace) : manifest;
      case "v1 Service":
        return name === "kourier" ? withServiceOptions(manifest, options) : manifest;
      default:
        return manifest;
    }
  };
}

function withGatewayNamespace(manifest: Manifest, namespace: string): Manifest {
  const path = ["spec", "template", "spec", "containers", "*", "env", "*"];
  return changeField(manifest, path, (variable) => {
    if (!isRecord(variable) || variable["name"] !== "KOURIER_GATEWAY_NAMESPACE") return variable;
    const { valueFrom: _, ...rest } = variable;
    return { ...rest, value: namespace };
  });
}

function withNamespaceInText(manifest: Manifest, namespace: string): Manifest {
  return changeField(manifest, ["data", "envoy-bootstrap.yaml"], (text) =>
    typeof text === "string" ? text.replaceAll("knative-serving", () => namespace) : text,
  );
}

function withBootstrap(manifest: Manifest, options: KourierOptions): Manifest {
  const name = options["bootstrap-configmap"] ?? "";
  if (name === "") return manifest;
  return changeField(manifest, ["spec", "template", "spec", "volumes", "*"], (volume) => {
    if (!isRecord(volume) || !isRecord(volume["configMap"])) {
      // Upstream crashes (D-37).
      throw optionError(
        "cannot take bootstrap-configmap, a volume of the gateway is",
        "no ConfigMap",
      );
    }
    return volume["configMap"]["name"] === bootstrapName
      ? { ...volume, configMap: { name } }
      : volume;
  });
}

function withServiceOptions(manifest: Manifest, options: KourierOptions): Manifest {
  const wanted = options["service-type"] ?? "";
  const typed =
    wanted === "" ? manifest : setEntries(manifest, ["spec"], { type: serviceTypeOf(wanted) });
  const type = isRecord(typed["spec"]) ? typed["spec"]["type"] : undefined;
  const address = options["service-load-balancer-ip"] ?? "";
  const http = options["http-port"] ?? 0;
  const https = options["https-port"] ?? 0;
  if (address !== "") assertType(type, "LoadBalancer", "LoadBalancerIP");
  if (http > 0) assertType(type, "NodePort", "HTTPPort");
  if (https > 0) assertType(type, "NodePort", "HTTPSPort");
  const addressed =
    address === "" ? typed : setEntries(typed, ["spec"], { loadBalancerIP: address });
  return changeField(addressed, ["spec", "ports", "*"], (port) => {
    if (!isRecord(port)) return port;
    const nodePort = port["name"] === "https" ? https : http;
    return nodePort > 0 ? { ...port, nodePort } : port;
  });
}

function serviceTypeOf(wanted: string): string {
  if (["ClusterIP", "LoadBalancer", "NodePort"].includes(wanted)) return wanted;
  throw optionError(
    `${wanted === "ExternalName" ? "unsupported" : "unknown"} service type`,
    wanted,
  );
}

function assertType(type: unknown, needed: string, option: string): void {
  // A Service without a type is a ClusterIP.
  const actual = typeof type === "string" ? type : "ClusterIP";
  if (actual !== needed) throw optionError(`cannot configure ${option} for service type`, actual);
}

function optionError(problem: string, value: string): FleetError {
  return new FleetError("ManifestInvalid", `spec.ingress.kourier: ${problem} "${value}"`);
}
