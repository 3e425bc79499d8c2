import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { resourceFinder } from "../../api/resources.ts";
import { withoutDuplicates } from "./duplicates.ts";
import { needsCertManager, usesTls } from "./eventing-tls.ts";
import { hashOf } from "./hash.ts";
import { type Parts, partsOf, pathsOf } from "./parts.ts";
import { deepFrozen } from "./release-file.ts";
import type { Releases } from "./release.ts";
import type { Rendered } from "./rendered.ts";
import { transformOf } from "./transforms.ts";
import { assertVersionLabels } from "./version-labels.ts";
import { assertEligible, targetVersion } from "./version.ts";

export type { Rendered } from "./rendered.ts";

/**
 * What a component installs, without owners (`owned`). Equal components in equally named namespaces are rendered once.
 * Throws FleetError VersionNotEligible, ReleaseNotFound or ManifestInvalid.
 */
export async function render(component: Component, releases: Releases): Promise<Rendered> {
  const available = releases.versionsOf(component.kind);
  const version = targetVersion(component.spec?.version, available);
  assertEligible({ kind: component.kind, installed: component.status?.version, target: version });
  refuseForeignManifests(component);
  if (!available.includes(version)) {
    throw new FleetError(
      "ReleaseNotFound",
      `The manifests of the target version ${version} are not available to this release`,
    );
  }
  const [newest = version] = available;
  const parts = partsOf(component, version, newest);
  return releases.rendered.get(keyOfRender(component, version), async () => {
    const manifests = await assemble(component, { version, parts, releases });
    return deepFrozen({ version, manifests, paths: pathsOf(parts), hash: hashOf(manifests) });
  });
}

interface Assembly {
  readonly version: string;
  readonly parts: Parts;
  readonly releases: Releases;
}

async function assemble(
  component: Component,
  { version, parts, releases }: Assembly,
): Promise<readonly Manifest[]> {
  const main = await releases.load(parts.component);
  assertVersionLabels(main, version);
  const extensions = await Promise.all(parts.extensions.map((part) => releases.load(part)));
  const guard = parts.guard === undefined ? [] : await releases.load(parts.guard);
  const base = [main, ...extensions].flat();
  const resourceOf = resourceFinder([...base, ...guard]);
  const transform = transformOf(component, { version, resourceOf });
  const all = withoutDuplicates(base.map(transform), guard.map(transform));
  const tls = component.kind === "KnativeServing" || usesTls(component.spec?.config ?? {});
  return tls ? all : all.filter((manifest) => !needsCertManager(manifest));
}

/** What a spec says of the cluster and the version is left out: it does not change the objects, or is in the key already. */
function keyOfRender({ kind, metadata, spec }: Component, version: string): string {
  const { clusterProfileRef: _, version: _wanted, ...rest } = spec ?? {};
  return [kind, version, metadata.namespace, hashOf(rest)].join("|");
}

function refuseForeignManifests({ spec }: Component): void {
  for (const field of ["manifests", "additionalManifests"] as const) {
    if ((spec?.[field]?.length ?? 0) === 0) continue;
    throw new FleetError("ManifestInvalid", `spec.${field} is not supported yet`);
  }
}
