import { parse } from "yaml";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { groupOf } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { type Fields, type Transform, changeField, setEntries } from "../fields.ts";
import type { Config } from "./named-objects.ts";

type IstioOptions = NonNullable<NonNullable<KnativeServingSpec["ingress"]>["istio"]>;
type GatewayOptions = NonNullable<IstioOptions["knative-local-gateway"]>;
type Server = NonNullable<GatewayOptions["servers"]>[number];
type Tls = NonNullable<Server["tls"]>;

const tlsModes = ["PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL"];
// Index is the number in the spec; the first is Istio's own choice.
const tlsVersions = ["TLS_AUTO", "TLSV1_0", "TLSV1_1", "TLSV1_2", "TLSV1_3"];

/**
 * Gives Istio's Gateways, of all API versions (N-2), the selectors and servers of `spec.ingress.istio`. Throws FleetError
 * ManifestInvalid for an unknown TLS mode or version. Spec: knative-operator.md 3.16, Istio.
 */
export function istioGateways(options: IstioOptions): Transform {
  const local = changesOf("knative-local-gateway", options["knative-local-gateway"]);
  const changes = new Map([
    [
      "knative-ingress-gateway",
      changesOf("knative-ingress-gateway", options["knative-ingress-gateway"]),
    ],
    ["knative-local-gateway", local],
    // Its name until 0.20.
    ["cluster-local-gateway", local],
  ]);
  return (manifest) =>
    manifest.kind === "Gateway" && groupOf(manifest.apiVersion) === "networking.istio.io"
      ? setEntries(manifest, ["spec"], changes.get(manifest.metadata.name ?? "") ?? {})
      : manifest;
}

function changesOf(name: string, { selector = {}, servers = [] }: GatewayOptions = {}): Fields {
  const path = `spec.ingress.istio.${name}.servers`;
  return {
    ...(Object.keys(selector).length === 0 ? {} : { selector }),
    ...(servers.length === 0
      ? {}
      : { servers: servers.map((server, index) => serverOf(server, `${path}[${index}]`)) }),
  };
}

/** The spec has the field names of an old Istio API. Empty fields are left out, as by the types of Istio. */
function serverOf({ port, tls, ...rest }: Server, path: string): Fields {
  return withoutEmptyFields({
    ...rest,
    port: port === undefined ? undefined : portOf(port),
    tls: tls === undefined ? undefined : tlsOf(tls, `${path}.tls`),
  });
}

function portOf({ target_port: targetPort, ...rest }: NonNullable<Server["port"]>): Fields {
  return withoutEmptyFields({ ...rest, targetPort });
}

function tlsOf({ minProtocolVersion, maxProtocolVersion, ...rest }: Tls, path: string): Fields {
  return withoutEmptyFields({
    ...rest,
    mode: modeOf(rest.mode ?? "", `${path}.mode`),
    minProtocolVersion: versionOf(minProtocolVersion, `${path}.minProtocolVersion`),
    maxProtocolVersion: versionOf(maxProtocolVersion, `${path}.maxProtocolVersion`),
  });
}

/** Istio takes no mode for PASSTHROUGH. */
function modeOf(mode: string, path: string): string | undefined {
  if (mode !== "" && !tlsModes.includes(mode)) throw invalid(path, mode);
  return mode === "PASSTHROUGH" ? undefined : mode;
}

function versionOf(number: number | undefined, path: string): string | undefined {
  if (number === undefined || number === 0) return undefined;
  const version = tlsVersions[number];
  if (version === undefined) throw invalid(path, number);
  return version;
}

function withoutEmptyFields(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) ? false : [undefined, null, "", 0, false].some((empty) => empty === value);
}

function invalid(path: string, value: string | number): FleetError {
  return new FleetError("ManifestInvalid", `${path}: unknown value ${JSON.stringify(value)}`);
}

const localGateway = "knative-local-gateway";

/** Settings of the gateway Services. */
export interface GatewaySettings {
  readonly config: Config;
  readonly istio: IstioOptions | undefined;
  /** Namespace of the component. */
  readonly namespace: string;
}

/**
 * Moves Service `knative-local-gateway` into the namespace of Istio's gateway pods, and sets the selectors of
 * `spec.ingress.istio` on the gateway Services. Spec: knative-operator.md 3.16, Gateway Services.
 */
export function gatewayServices({ config, istio, namespace }: GatewaySettings): Transform {
  const selectors = new Map([
    ["knative-ingress-gateway", istio?.["knative-ingress-gateway"]?.selector],
    [localGateway, istio?.[localGateway]?.selector],
  ]);
  const place = localGatewayNamespaceOf(config, namespace);
  return (manifest) => {
    const { name = "" } = manifest.metadata;
    if (manifest.apiVersion !== "v1" || manifest.kind !== "Service") return manifest;
    if (!selectors.has(name)) return manifest;
    const selector = selectors.get(name) ?? {};
    const selected =
      Object.keys(selector).length === 0
        ? manifest
        : changeField(manifest, ["spec", "selector"], () => selector);
    return name === localGateway
      ? { ...selected, metadata: { ...selected.metadata, namespace: place } }
      : selected;
  };
}

function localGatewayNamespaceOf(config: Config, namespace: string): string {
  return (
    namespaceIn(entryOf(config, "config-istio"), namespace) ??
    namespaceIn(entryOf(config, "istio"), namespace) ??
    "istio-system"
  );
}

function entryOf(config: Config, name: string): Config[string] {
  return Object.hasOwn(config, name) ? (config[name] ?? {}) : {};
}

function namespaceIn(entry: Config[string], namespace: string): string | undefined {
  const listed = listedNamespace(entry["local-gateways"] ?? "");
  if (listed !== undefined) return listed;
  const host = entry[`local-gateway.${namespace}.${localGateway}`] ?? "";
  const part = host.split(".")[1] ?? "";
  return part === "" ? undefined : part;
}

/**
 * Where the Service of the local gateway is. In the form of net-istio `namespace` is that of the Gateway and `service` the host name of its Service; upstream
 * takes the namespace of the Gateway (D-63). A list that cannot be read is ignored, as by upstream.
 */
function listedNamespace(text: string): string | undefined {
  const gateways = parseGateways(text);
  if (!Array.isArray(gateways)) return undefined;
  const list: readonly unknown[] = gateways;
  for (const gateway of list) {
    if (!isRecord(gateway) || gateway["name"] !== localGateway) continue;
    const { namespace, service } = gateway;
    const place = typeof service === "string" ? (service.split(".")[1] ?? "") : "";
    if (place !== "") return place;
    if (typeof namespace === "string" && namespace !== "") return namespace;
  }
  return undefined;
}

function parseGateways(text: string): unknown {
  try {
    return parse(text, { logLevel: "error" });
  } catch {
    return undefined;
  }
}
