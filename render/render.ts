import type { Component } from "../api/component.ts";
import { FleetError } from "../api/errors.ts";
import { setLabels } from "../api/fleet-set.ts";
import { assemble } from "./assemble.ts";
import { hashOf } from "./fields.ts";
import type { Releases, Rendered } from "./release/releases.ts";
import { isCustom, userTextsOf } from "./release/user-manifests.ts";
import {
  assertEligible,
  assertKubernetesVersion,
  customVersion,
  targetVersion,
  unavailable,
} from "./release/version.ts";
import { deepFrozen } from "./yaml.ts";

/**
 * What a component installs, without owners (`owned`). Equal components in equally named namespaces are rendered once.
 * Throws FleetError VersionNotEligible, KubernetesVersionTooOld, ReleaseNotFound, ReleasePartNotFound, ManifestInvalid, ManifestSourceNotAllowed or
 * ManifestSourceUnavailable.
 */
export async function render(
  original: Component,
  releases: Releases,
  { namespace, kubernetesVersion, environment = {}, manifestText }: RenderOptions = {},
): Promise<Rendered> {
  const component = inNamespace(original, namespace);
  const { kind, spec, status } = component;
  const available = releases.versionsOf(kind);
  const choice = choiceOf(component, available);
  const versionOf = isCustom(component) ? customVersion : targetVersion;
  const version = versionOf(spec?.version, choice, kind);
  assertEligible({ kind, installed: status?.version, target: version });
  if (kubernetesVersion !== undefined) assertKubernetesVersion(kubernetesVersion, environment);
  if (!isCustom(component) && !available.includes(version)) {
    throw new FleetError("ReleaseNotFound", unavailable(version, available));
  }
  const [custom, additional] = await inOrder(
    userTextsOf(spec?.manifests, version, manifestText),
    userTextsOf(spec?.additionalManifests, version, manifestText),
  );
  const [newest = version] = available;
  const key = [
    kind,
    version,
    component.metadata.namespace,
    hashOf([specOf(component), environment["KUBERNETES_MIN_VERSION"], custom, additional]),
  ];
  return releases.rendered.get(key.join("|"), async () => {
    const assembly = { version, newest, releases, environment, custom, additional };
    const assembled = await assemble(component, assembly);
    return deepFrozen({ version, ...assembled, hash: hashOf(assembled.manifests) });
  });
}

/** The versions that a component may get. One of a set keeps what is installed until its set names another: a newer patch comes by a rollout only. */
function choiceOf(
  { kind, metadata, spec, status }: Component,
  available: readonly string[],
): readonly string[] {
  const installed = status?.version ?? "";
  const isOfSet = metadata.labels?.[setLabels.set] !== undefined;
  if (!isOfSet || !available.includes(installed)) return available;
  return targetVersion(spec?.version, [installed], kind) === installed ? [installed] : available;
}

/** The component with its target namespace as its own; everything below renders into that one. */
function inNamespace(component: Component, namespace = component.metadata.namespace): Component {
  return { ...component, metadata: { ...component.metadata, namespace } };
}

/** Waits for both promises. When both fail, the error of the first is thrown, so that the condition stays the same. */
async function inOrder<Result>(
  first: Promise<Result>,
  second: Promise<Result>,
): Promise<readonly [Result, Result]> {
  second.catch(() => undefined);
  return [await first, await second];
}

/**
 * The spec without its cluster and version: the cluster does not change the objects, and the version is part of the
 * cache key.
 */
function specOf({ spec }: Component): object {
  const { clusterProfileRef: _, version: _wanted, ...rest } = spec ?? {};
  return rest;
}

/** What rendering depends on besides the component and the releases. */
export interface RenderOptions {
  /** Namespace of the installation; see installation-namespace.ts. Absent: the namespace of the component on the hub. */
  readonly namespace?: string;
  /** `gitVersion` of the target cluster's answer to `/version`; absent: the version is not checked. */
  readonly kubernetesVersion?: string;
  /** Environment of the controller. Only `KUBERNETES_MIN_VERSION` is used. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * The text at a URL of `spec.manifests` or `spec.additionalManifests`, `${VERSION}` already replaced; absent: no URL is
   * allowed. Rejects with FleetError ManifestSourceNotAllowed, ManifestSourceUnavailable or ManifestInvalid.
   */
  readonly manifestText?: (url: string) => Promise<string>;
}
