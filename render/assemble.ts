import type { Component } from "../api/component.ts";
import { FleetError } from "../api/errors.ts";
import { objectId } from "../api/keys.ts";
import { type Manifest, type ObjectKey, keyOf } from "../api/kubernetes.ts";
import { resourceFinder } from "../api/resources.ts";
import { needsCertManager, usesTls } from "./features/eventing.ts";
import { isConfigMap, unusedConfig } from "./features/named-objects.ts";
import { setEntries } from "./fields.ts";
import { inNamespace } from "./namespace.ts";
import { type Parts, partsOf, pathsOf } from "./parts.ts";
import { applyPatches } from "./patches/patches.ts";
import type { Releases } from "./release/releases.ts";
import { type UserTexts, isCustom, userManifestsOf } from "./release/user-manifests.ts";
import { assertVersionLabels } from "./release/version.ts";
import { overridesOf, transformOf } from "./transforms.ts";
import { sharedImageNames } from "./workloads/images.ts";
import { isAutoscalerOf, stoppedWorkloads } from "./workloads/scaling.ts";

export interface Assembly {
  readonly version: string;
  /** Newest version of the directory, which stands for `latest` where a number is needed. */
  readonly newest: string;
  readonly releases: Releases;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Texts of `spec.manifests`. */
  readonly custom: UserTexts;
  /** Texts of `spec.additionalManifests`. */
  readonly additional: UserTexts;
}

/** The objects that a component installs, and the parts of the release that they come from. */
export interface Assembled {
  readonly manifests: readonly Manifest[];
  readonly deletions: readonly ObjectKey[];
  readonly unusedConfig: readonly string[];
  /** What `status.manifests` says. Spec: knative-operator.md 2.7; the guard is in it, too (D-13). */
  readonly paths: readonly string[];
}

/**
 * Loads all parts of the release, transforms each object, removes duplicates, and applies the patches. Spec:
 * knative-operator.md 2.4, 2.5, 3.
 */
export async function assemble(component: Component, assembly: Assembly): Promise<Assembled> {
  const { version, environment, additional } = assembly;
  const { main, extensions, guard, parts } = await load(component, assembly);
  const added = await userManifestsOf(additional, version);
  const all = [...main, ...extensions, ...guard, ...added];
  const resourceOf = resourceFinder(all);
  const stopped = stoppedWorkloads(overridesOf(component), all);
  const sharedImages = sharedImageNames([...main, ...extensions, ...guard]);
  const target = { version, resourceOf, stopped, sharedImages, environment };
  const transform = transformOf(component, target);
  const own = main.map(transform);
  const base = [...(isCustom(component) ? lastOnes(own) : own), ...extensions.map(transform)];
  const manifests = withAdditions(
    withoutDuplicates(base, guard.map(transform)),
    added.map(transform),
  );
  if (isCustom(component)) assertWebhook(component, manifests);
  const config = component.spec?.config ?? {};
  const configMaps = manifests.filter(isConfigMap).map(({ metadata }) => metadata.name ?? "");
  const tls = component.kind === "KnativeServing" || usesTls(config);
  const wanted = manifests.filter(
    (manifest) => (tls || !needsCertManager(manifest)) && !isAutoscalerOf(stopped, manifest),
  );
  return {
    ...applyPatches(component, wanted),
    unusedConfig: unusedConfig(config, configMaps),
    paths: pathsOf(parts, additional.urls),
  };
}

/**
 * Removes duplicates from the manifests of a user. The last one wins, because upstream applies both in order. Spec:
 * knative-operator.md, Appendix A.
 */
function lastOnes(manifests: readonly Manifest[]): readonly Manifest[] {
  return withoutDuplicates(manifests.toReversed()).toReversed();
}

interface Loaded {
  readonly main: readonly Manifest[];
  readonly extensions: readonly Manifest[];
  readonly guard: readonly Manifest[];
  /** The parts that the release directory has. */
  readonly parts: Parts;
}

/** All objects that a component of this version is made of, as the release and the manifests of the user have them. */
export async function manifestsBefore(
  component: Component,
  assembly: Omit<Assembly, "environment">,
): Promise<readonly Manifest[]> {
  const { main, extensions, guard } = await load(component, assembly);
  const added = await userManifestsOf(assembly.additional, assembly.version);
  const base = [...(isCustom(component) ? lastOnes(main) : main), ...extensions, ...guard];
  if (added.length === 0) return base;
  const moved = inNamespace(component.metadata.namespace, resourceFinder([...base, ...added]));
  return withAdditions(base.map(moved), added.map(moved));
}

async function load(
  component: Component,
  { version, newest, releases, custom }: Omit<Assembly, "environment" | "additional">,
): Promise<Loaded> {
  if (isCustom(component)) {
    const main = await userManifestsOf(custom, version);
    // The directory may lack the ingress or source of a custom version. The user brings these objects as well then.
    const parts = await orElse(
      async () => partsOf(component, version, newest),
      partsOf(withoutGuard(component), version, newest),
    );
    const found = await loadExtensions(parts, (part) => orElse(() => releases.load(part), []));
    return { main, ...found, parts: { ...found.parts, component: custom.urls.join(",") } };
  }
  const parts = partsOf(component, version, newest);
  const main = await releases.load(parts.component);
  assertVersionLabels(main, version);
  return { main, ...(await loadExtensions(parts, (part) => releases.load(part))) };
}

function withoutGuard(component: Component): Component {
  if (component.kind === "KnativeEventing") return component;
  const { security: _, ...spec } = component.spec ?? {};
  return { ...component, spec };
}

async function loadExtensions(
  { guard: guardPart, ...parts }: Parts,
  read: (part: string) => Promise<readonly Manifest[]>,
): Promise<Omit<Loaded, "main">> {
  const sets = await Promise.all(parts.extensions.map(read));
  const guard = guardPart === undefined ? [] : await read(guardPart);
  const present = parts.extensions.filter((_, index) => sets[index]?.length !== 0);
  return {
    extensions: sets.flat(),
    guard,
    parts: {
      ...parts,
      extensions: present,
      ...(guardPart === undefined || guard.length === 0 ? {} : { guard: guardPart }),
    },
  };
}

async function orElse<Value>(read: () => Promise<Value>, otherwise: Value): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FleetError && error.reason === "ReleasePartNotFound") return otherwise;
    throw error;
  }
}

/**
 * Throws FleetError ManifestInvalid when Serving has no webhook Deployment. Spec: knative-operator.md 4.2, stage 10;
 * upstream checks after it has applied everything.
 */
function assertWebhook({ kind }: Component, manifests: readonly Manifest[]): void {
  if (kind !== "KnativeServing") return;
  const isThere = manifests.some(
    (manifest) => manifest.kind === "Deployment" && manifest.metadata.name === "webhook",
  );
  if (isThere) return;
  throw new FleetError("ManifestInvalid", "webhook deployment not found in manifest");
}

/**
 * Keeps one object for each identity. The first one wins, because the component's own objects come before those of its
 * ingresses and sources (D-09). Namespaces became equal by renaming, so their labels and annotations are merged
 * (D-18). An object of `winning` replaces its duplicate, or is added at the end (D-10).
 */
export function withoutDuplicates(
  manifests: readonly Manifest[],
  winning: readonly Manifest[] = [],
): readonly Manifest[] {
  const byIdentity = new Map<string, Manifest>();
  for (const manifest of manifests) {
    const id = objectId(keyOf(manifest));
    const first = byIdentity.get(id);
    byIdentity.set(id, first === undefined ? manifest : resolveDuplicate(first, manifest));
  }
  for (const manifest of winning) byIdentity.set(objectId(keyOf(manifest)), manifest);
  return [...byIdentity.values()];
}

function resolveDuplicate(first: Manifest, second: Manifest): Manifest {
  if (first.kind !== "Namespace" || first.apiVersion !== "v1") return first;
  const { labels, annotations } = first.metadata;
  return setEntries(
    setEntries(first, ["metadata", "labels"], { ...second.metadata.labels, ...labels }),
    ["metadata", "annotations"],
    { ...second.metadata.annotations, ...annotations },
  );
}

/**
 * Adds the objects of `spec.additionalManifests` at the end. They replace objects of the same identity; Namespaces are
 * merged. The last of several duplicates wins. Identities are compared after everything was moved into one namespace;
 * upstream compares them before (D-20). Spec: knative-operator.md 2.5.
 */
function withAdditions(
  manifests: readonly Manifest[],
  added: readonly Manifest[],
): readonly Manifest[] {
  if (added.length === 0) return manifests;
  const replacing = new Map(
    added.filter((one) => !isNamespace(one)).map((one) => [idOf(one), one] as const),
  );
  const kept = withoutDuplicates([...manifests, ...added.filter(isNamespace)]);
  return [...kept.filter((one) => !replacing.has(idOf(one))), ...replacing.values()];
}

function isNamespace({ apiVersion, kind }: Manifest): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}

function idOf(manifest: Manifest): string {
  return objectId(keyOf(manifest));
}
