import type { KnativeServing } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import { setEntries } from "../fields.ts";
import { ingressesOf } from "../parts.ts";
import type { Transform } from "../transform.ts";

const keys = ["ingress-class", "ingress.class"];

/**
 * Makes the only ingress of a component the one that Serving uses. Without that Serving asks for Istio, which is not there (D-59).
 * A class that somebody named stays, and so does everything when there are several ingresses or Istio.
 */
export function ingressClass(spec: KnativeServing["spec"]): Transform {
  const [only, ...others] = ingressesOf(spec);
  if (only === undefined || only === "istio" || others.length > 0) return (manifest) => manifest;
  const entry = { "ingress-class": `${only}.ingress.networking.knative.dev` };
  return (manifest) => {
    const { apiVersion, kind, metadata, data } = manifest;
    if (apiVersion !== "v1" || kind !== "ConfigMap" || metadata.name !== "config-network") {
      return manifest;
    }
    const isNamed = isRecord(data) && keys.some((key) => Object.hasOwn(data, key));
    return isNamed ? manifest : setEntries(manifest, ["data"], entry);
  };
}
