import { parse } from "yaml";

import { isRecord } from "../../api/fields.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { changeField } from "../fields.ts";
import type { Transform } from "../transform.ts";
import type { Config } from "./config-maps.ts";

type IstioOptions = NonNullable<NonNullable<KnativeServingSpec["ingress"]>["istio"]>;

const localGateway = "knative-local-gateway";

/** What the place and the selectors of the gateway Services depend on. */
export interface GatewaySettings {
  readonly config: Config;
  readonly istio: IstioOptions | undefined;
  /** Namespace of the component. */
  readonly namespace: string;
}

/**
 * Puts Service `knative-local-gateway` where Istio's gateway pods are, and gives the gateway Services the selectors of
 * `spec.ingress.istio`. Spec: knative-operator.md 3.16, Gateway Services.
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

/** Upstream ignores a list that cannot be read; so does this. */
function listedNamespace(text: string): string | undefined {
  const gateways = parsed(text);
  if (!Array.isArray(gateways)) return undefined;
  const list: readonly unknown[] = gateways;
  for (const gateway of list) {
    if (!isRecord(gateway) || gateway["name"] !== localGateway) continue;
    const { namespace } = gateway;
    if (typeof namespace === "string" && namespace !== "") return namespace;
  }
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return parse(text, { logLevel: "error" });
  } catch {
    return undefined;
  }
}
