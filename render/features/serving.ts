import type { Component, KnativeServing } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import {
  type Fields,
  type Transform,
  changeField,
  invalidManifest,
  setEntries,
} from "../fields.ts";
import { ingressesOf } from "../parts.ts";
import { appendToPod, isWorkload, listIn } from "../workloads/pod-template.ts";

type CustomCerts = NonNullable<KnativeServingSpec["controller-custom-certs"]>;

const certsFolder = "/custom-certs";

/**
 * Mounts CA certificates in the first container of Serving's controller, which then trusts them. FleetError ManifestInvalid when
 * the type is unknown or the name is missing. Spec: knative-operator.md 3.15.
 */
export function customCerts({ kind, spec }: Component): Transform {
  const certs = kind === "KnativeServing" ? spec?.["controller-custom-certs"] : undefined;
  if (certs === undefined || (certs.type === "" && certs.name === ""))
    return (manifest) => manifest;
  return (manifest) =>
    isWorkload(manifest, ["Deployment"]) && manifest.metadata.name === "controller"
      ? mountCerts(manifest, `custom-certs-${certs.name}`, sourceOf(certs))
      : manifest;
}

function sourceOf({ type, name }: CustomCerts): Fields {
  if (type !== "ConfigMap" && type !== "Secret") throw invalid(`unknown CustomCerts type: ${type}`);
  if (name === "") throw invalid(`the CustomCerts name for ${type} is required`);
  return type === "ConfigMap" ? { configMap: { name } } : { secret: { secretName: name } };
}

function mountCerts(manifest: Manifest, volume: string, source: Fields): Manifest {
  const withVolume = appendToPod(manifest, "volumes", [{ name: volume, ...source }]);
  const path = ["spec", "template", "spec", "containers"];
  const result = changeField(withVolume, path, (containers) => {
    const [first, ...rest]: readonly unknown[] = Array.isArray(containers) ? containers : [];
    return isRecord(first) ? [withMount(first, volume, manifest), ...rest] : containers;
  });
  if (result !== withVolume) return result;
  throw invalidManifest(manifest, "has no container to mount certificates in");
}

function withMount(container: Fields, volume: string, manifest: Manifest): Fields {
  const mount = { name: volume, mountPath: certsFolder };
  const variable = { name: "SSL_CERT_DIR", value: certsFolder };
  return {
    ...container,
    volumeMounts: [...listIn(container, "volumeMounts", manifest), mount],
    env: [...listIn(container, "env", manifest), variable],
  };
}

function invalid(problem: string): FleetError {
  return new FleetError("ManifestInvalid", `spec.controller-custom-certs: ${problem}`);
}

const classKeys = ["ingress-class", "ingress.class"];

/**
 * Sets the ingress class of Serving when a component has exactly one ingress and that is not Istio. Serving uses Istio
 * by default, which would be missing (D-59). A class in the spec wins.
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
    const isNamed = isRecord(data) && classKeys.some((key) => Object.hasOwn(data, key));
    return isNamed ? manifest : setEntries(manifest, ["data"], entry);
  };
}
