import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { type Fields, type Transform, changeField, setEntries } from "../fields.ts";
import { appendToPod, changeContainers, isWorkload, listIn } from "./pod-template.ts";

/** `spec.registry`. */
export type Registry = NonNullable<KnativeServingSpec["registry"]>;

// An image reference has at most a quarter of this length. Every image of the release would be as long as the
// template.
const maxTemplateLength = 4_096;

const cachedImage = { apiVersion: "caching.internal.knative.dev/v1alpha1", kind: "Image" };

/**
 * Replaces the registry of images: in containers, variables that hold an image, cached Images, and for the
 * queue-proxy. Adds pull secrets. Init containers keep their images. Runs before Jobs are named. Throws FleetError
 * ManifestInvalid. Spec: knative-operator.md 3.4.
 */
export function images(registry: Registry = {}): Transform {
  if ((registry.default ?? "").length > maxTemplateLength) {
    const problem = `is longer than ${maxTemplateLength} characters`;
    throw new FleetError("ManifestInvalid", `spec.registry.default: ${problem}`);
  }
  return (manifest) => {
    if (isWorkload(manifest)) return inWorkload(manifest, registry);
    if (isOfDeployments(manifest)) return inDeployments(manifest, registry);
    return manifest.apiVersion === cachedImage.apiVersion && manifest.kind === cachedImage.kind
      ? inCachedImage(manifest, registry)
      : manifest;
  };
}

const sidecarKey = "queue-sidecar-image";

/** The ConfigMap from which Serving takes the image of the queue-proxy of every user pod; upstream changes the cached Image alone (D-61). */
function isOfDeployments({ apiVersion, kind, metadata }: Manifest): boolean {
  return apiVersion === "v1" && kind === "ConfigMap" && metadata.name === "config-deployment";
}

function inDeployments(manifest: Manifest, registry: Registry): Manifest {
  return changeField(manifest, ["data", sidecarKey], (image) =>
    typeof image === "string"
      ? (imageFor(["queue-proxy"], { image, fallback: "queue-proxy" }, registry) ?? image)
      : image,
  );
}

function inWorkload(manifest: Manifest, registry: Registry): Manifest {
  const { name = "", generateName = "" } = manifest.metadata;
  const owner = generateName === "" ? name : generateName;
  const changed = changeContainers(manifest, (container) => {
    const { name: own, image } = container;
    const fallback = typeof own === "string" ? own : "";
    const wanted = imageFor([`${owner}/${fallback}`, fallback], { image, fallback }, registry);
    const pulled = wanted === undefined ? container : { ...container, image: wanted };
    return withVariables(pulled, manifest, registry);
  });
  return appendToPod(changed, "imagePullSecrets", registry.imagePullSecrets ?? []);
}

function withVariables(container: Fields, manifest: Manifest, registry: Registry): Fields {
  const env = listIn(container, "env", manifest);
  const after = env.map((variable) => {
    const name = isRecord(variable) ? variable["name"] : undefined;
    const value = typeof name === "string" ? overrideOf(name, registry) : undefined;
    return value === undefined ? variable : { name, value };
  });
  return after.every((variable, index) => variable === env[index])
    ? container
    : { ...container, env: after };
}

function inCachedImage(manifest: Manifest, registry: Registry): Manifest {
  const fallback = manifest.metadata.name ?? "";
  const image = isRecord(manifest["spec"]) ? manifest["spec"]["image"] : undefined;
  const wanted = imageFor([fallback], { image, fallback }, registry);
  const pulled =
    wanted === undefined ? manifest : setEntries(manifest, ["spec"], { image: wanted });
  const secrets = registry.imagePullSecrets ?? [];
  const unlocked =
    secrets.length === 0
      ? pulled
      : changeField(pulled, ["spec"], (spec) => {
          if (!isRecord(spec)) return spec;
          const imagePullSecrets = [...listIn(spec, "imagePullSecrets", manifest), ...secrets];
          return { ...spec, imagePullSecrets };
        });
  return withoutStatus(unlocked);
}

function withoutStatus(manifest: Manifest): Manifest {
  if (!Object.hasOwn(manifest, "status")) return manifest;
  const { status: _, apiVersion, kind, metadata, ...rest } = manifest;
  return { apiVersion, kind, metadata, ...rest };
}

interface Current {
  readonly image: unknown;
  /** Replaces the name of an image that has no path. */
  readonly fallback: string;
}

/** The image that replaces the current one; undefined when the current one stays. */
function imageFor(
  names: readonly string[],
  { image, fallback }: Current,
  registry: Registry,
): string | undefined {
  for (const name of names) {
    const exact = overrideOf(name, registry);
    // A pod needs an image, so an empty override keeps that of the release.
    if (exact !== undefined) return exact === "" ? undefined : exact;
  }
  const template = registry.default ?? "";
  const base = typeof image === "string" ? baseNameOf(image) : "";
  return template === ""
    ? undefined
    : template.replaceAll("${NAME}", () => (base === "" ? fallback : base));
}

function overrideOf(name: string, { override = {} }: Registry): string | undefined {
  return Object.hasOwn(override, name) ? override[name] : undefined;
}

/** Last part of the path, without tag and digest; the empty string for a reference without a path. */
function baseNameOf(image: string): string {
  const path = image.split("@", 1)[0] ?? "";
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : (path.slice(slash + 1).split(":", 1)[0] ?? "");
}
