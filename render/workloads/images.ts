import { FleetError } from "../../api/errors.ts";
import { isRecord, listAt, recordAt } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import { isConfigMap } from "../features/named-objects.ts";
import { type Fields, type Transform, changeField, setEntries } from "../fields.ts";
import { appendToPod, changeContainers, isWorkload, listIn } from "./pod-template.ts";

/** `spec.registry`. */
export type Registry = NonNullable<KnativeServingSpec["registry"]>;

// An image reference has at most a quarter of this length. Every image of the release would be as long as the
// template.
const maxTemplateLength = 4_096;

const cachedImage = { apiVersion: "caching.internal.knative.dev/v1alpha1", kind: "Image" };

const containerLists = ["containers", "initContainers"] as const;

/**
 * Replaces the registry of images: in containers, in variables and ConfigMaps that hold an image, and in cached Images. Adds pull secrets. Runs before
 * Jobs are named. Throws FleetError ManifestInvalid. Spec: knative-operator.md 3.4. `shared` has the names of `sharedImageNames`.
 */
export function images(
  registry: Registry = {},
  shared: ReadonlySet<string> = new Set(),
): Transform {
  if ((registry.default ?? "").length > maxTemplateLength) {
    const problem = `is longer than ${maxTemplateLength} characters`;
    throw new FleetError("ManifestInvalid", `spec.registry.default: ${problem}`);
  }
  return (manifest) => {
    if (isWorkload(manifest)) return inWorkload(manifest, registry, shared);
    if (isConfigMap(manifest)) return inConfigMap(manifest, registry);
    return isCachedImage(manifest) ? inCachedImage(manifest, registry) : manifest;
  };
}

const sidecarKey = "queue-sidecar-image";

/**
 * Images that Knative reads from a ConfigMap: that of the queue-proxy of every user pod, and those of the pods that Eventing makes itself. Upstream
 * changes none of them (D-61, D-62).
 */
function inConfigMap(manifest: Manifest, registry: Registry): Manifest {
  const data = recordAt(manifest, "data");
  const owner = manifest.metadata.name ?? "";
  const changed = Object.entries(data).flatMap(([key, image]) => {
    if (!isImage(image)) return [];
    const wanted = imageFor(configNames(owner, key), { image, fallback: key }, registry);
    return wanted === undefined ? [] : [[key, wanted] as const];
  });
  return setEntries(manifest, ["data"], Object.fromEntries(changed));
}

function configNames(owner: string, key: string): readonly string[] {
  const cached = owner === "config-deployment" && key === sidecarKey ? ["queue-proxy"] : [];
  return [`${owner}/${key}`, key, ...cached];
}

const imageHost = /^(?:localhost|[a-z0-9.-]*\.[a-z0-9.-]+|[a-z0-9.-]+(?=:\d))(?::\d{1,5})?$/i;
const imageRest =
  /^[a-z0-9._/-]+(?::\w[\w.-]{0,127}|(?::\w[\w.-]{0,127})?@sha256:[0-9a-f]{16,64})$/;
const longestImage = 1_024;

/** Whether a text is an image reference with its registry and its tag or digest, as all images of a release are. */
export function isImage(text: unknown): text is string {
  if (typeof text !== "string" || text.length > longestImage) return false;
  const slash = text.indexOf("/");
  return slash > 0 && imageHost.test(text.slice(0, slash)) && imageRest.test(text.slice(slash + 1));
}

/** The names by which `spec.registry.override` knows the images of a release, each with the value that it has there. Spec: knative-operator.md 3.4. */
export function namedImages(
  released: readonly Manifest[],
): readonly (readonly [name: string, value: unknown])[] {
  return released.flatMap((manifest) => {
    const { name = "", generateName = "" } = manifest.metadata;
    if (isWorkload(manifest)) {
      const owner = generateName === "" ? name : generateName;
      return containersOf(manifest).flatMap((container) => [
        ...namesOf(container).flatMap((own) =>
          [`${owner}/${own}`, own].map((one) => [one, container["image"]] as const),
        ),
        ...listIn(container, "env", manifest).flatMap((variable) =>
          namesOf(variable).map((one) => [one, recordAt(variable)["value"]] as const),
        ),
      ]);
    }
    if (isConfigMap(manifest)) {
      return Object.entries(recordAt(manifest, "data")).flatMap(([key, image]) =>
        isImage(image) ? configNames(name, key).map((one) => [one, image] as const) : [],
      );
    }
    return isCachedImage(manifest) ? [[name, recordAt(manifest, "spec")["image"]] as const] : [];
  });
}

/**
 * The last parts of paths that several images in variables of a release have, such as `receive_adapter`. `${NAME}` would make one image of them, so that they stay as they are: only
 * an override can tell them apart.
 */
export function sharedImageNames(released: readonly Manifest[]): ReadonlySet<string> {
  const paths = new Map<string, Set<string>>();
  for (const image of released.filter((one) => isWorkload(one)).flatMap(variableImages)) {
    const path = image.split("@", 1)[0]?.replace(/:[^/]*$/, "") ?? "";
    const base = baseNameOf(image);
    paths.set(base, (paths.get(base) ?? new Set()).add(path));
  }
  return new Set([...paths].flatMap(([base, { size }]) => (size > 1 ? [base] : [])));
}

function variableImages(manifest: Manifest): readonly string[] {
  return containersOf(manifest)
    .flatMap((container) => listAt(container, "env").map((one) => recordAt(one)["value"]))
    .filter(isImage);
}

function containersOf(manifest: Manifest): readonly Fields[] {
  const pod = recordAt(manifest, "spec", "template", "spec");
  return containerLists.flatMap((list) => listAt(pod, list).filter(isRecord));
}

function namesOf(named: unknown): readonly string[] {
  const name = isRecord(named) ? named["name"] : undefined;
  return typeof name === "string" ? [name] : [];
}

function isCachedImage({ apiVersion, kind }: Manifest): boolean {
  return apiVersion === cachedImage.apiVersion && kind === cachedImage.kind;
}

function inWorkload(manifest: Manifest, registry: Registry, shared: ReadonlySet<string>): Manifest {
  const { name = "", generateName = "" } = manifest.metadata;
  const owner = generateName === "" ? name : generateName;
  const changed = changeContainers(
    manifest,
    (container) => {
      const { name: own, image } = container;
      const fallback = typeof own === "string" ? own : "";
      const wanted = imageFor([`${owner}/${fallback}`, fallback], { image, fallback }, registry);
      const pulled = wanted === undefined ? container : { ...container, image: wanted };
      return withVariables(pulled, manifest, { registry, shared });
    },
    containerLists,
  );
  return appendToPod(changed, "imagePullSecrets", registry.imagePullSecrets ?? []);
}

function withVariables(
  container: Fields,
  manifest: Manifest,
  { registry, shared }: { readonly registry: Registry; readonly shared: ReadonlySet<string> },
): Fields {
  const env = listIn(container, "env", manifest);
  const after = env.map((variable) => {
    const [name] = namesOf(variable);
    if (name === undefined) return variable;
    const exact = overrideOf(name, registry);
    if (exact !== undefined) return { name, value: exact };
    const image = isRecord(variable) ? variable["value"] : undefined;
    // The image of pods that a controller makes.
    const value = isImage(image)
      ? imageFor([], { image, fallback: name, shared }, registry)
      : undefined;
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
  /** Names for which `default` is no answer. */
  readonly shared?: ReadonlySet<string>;
}

/** The image that replaces the current one; undefined when the current one stays. */
function imageFor(
  names: readonly string[],
  { image, fallback, shared }: Current,
  registry: Registry,
): string | undefined {
  for (const name of names) {
    const exact = overrideOf(name, registry);
    // A pod needs an image, so an empty override keeps that of the release.
    if (exact !== undefined) return exact === "" ? undefined : exact;
  }
  const template = registry.default ?? "";
  const base = typeof image === "string" ? baseNameOf(image) : "";
  return template === "" || shared?.has(base) === true
    ? undefined
    : template.replaceAll("${NAME}", () => (base === "" ? fallback : base));
}

function overrideOf(name: string, registry: Registry): string | undefined {
  // A spec that no API server has seen can have null here.
  const override = registry.override ?? {};
  return Object.hasOwn(override, name) ? override[name] : undefined;
}

/** Last part of the path, without tag and digest; the empty string for a reference without a path. */
function baseNameOf(image: string): string {
  const path = image.split("@", 1)[0] ?? "";
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : (path.slice(slash + 1).split(":", 1)[0] ?? "");
}
