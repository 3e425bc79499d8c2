import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { changeField, type Fields, invalidManifest } from "../fields.ts";
import type { Transform } from "../transform.ts";
import { appendToPod, isWorkload, listIn } from "../workloads/pod-template.ts";

type CustomCerts = NonNullable<KnativeServingSpec["controller-custom-certs"]>;

const directory = "/custom-certs";

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
      ? mounted(manifest, `custom-certs-${certs.name}`, sourceOf(certs))
      : manifest;
}

function sourceOf({ type, name }: CustomCerts): Fields {
  if (type !== "ConfigMap" && type !== "Secret") throw invalid(`unknown CustomCerts type: ${type}`);
  if (name === "") throw invalid(`the CustomCerts name for ${type} is required`);
  return type === "ConfigMap" ? { configMap: { name } } : { secret: { secretName: name } };
}

function mounted(manifest: Manifest, volume: string, source: Fields): Manifest {
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
  const mount = { name: volume, mountPath: directory };
  const variable = { name: "SSL_CERT_DIR", value: directory };
  return {
    ...container,
    volumeMounts: [...listIn(container, "volumeMounts", manifest), mount],
    env: [...listIn(container, "env", manifest), variable],
  };
}

function invalid(problem: string): FleetError {
  return new FleetError("ManifestInvalid", `spec.controller-custom-certs: ${problem}`);
}
