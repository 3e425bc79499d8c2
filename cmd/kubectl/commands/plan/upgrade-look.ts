import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { foreignText } from "../../../../api/foreign-text.ts";
import { targetId } from "../../../../api/keys.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { whoAmI } from "../../../../controller/guard/whoami.ts";
import type { Releases } from "../../../../render/release/releases.ts";
import { versionRefusal } from "../../../../render/release/version.ts";
import { type Comparable, comparableOf } from "../../compare/comparable.ts";
import type { Look } from "../../compare/plan-item.ts";
import type { RenderSettings } from "../../compare/render-component.ts";
import {
  storedVersionsOf,
  type StoredVersions,
  type Upgrade,
  upgradeRights,
} from "../../compare/upgrade.ts";
import { installationError } from "../../output/report.ts";
import { reviewAll } from "../../rights/access-review.ts";
import { renderNeeds } from "../../rights/needs.ts";
import { permissionsFor } from "../../rights/permissions.ts";
import { readKubernetesVersion } from "../../spokes/kubernetes-version.ts";
import { mapLimited, type ReadOne } from "../../spokes/read-clusters.ts";
import { deniedMessage, ifDenied } from "../../spokes/spoke-reading.ts";
import { lookAt } from "./plan.ts";

/** What the cluster of a component says about its upgrade. */
export interface UpgradeLook extends Pick<Upgrade, "rights" | "storedVersions"> {
  readonly look: Look;
  /** `gitVersion` of the cluster. */
  readonly kubernetesVersion: string | null;
}

interface LookDeps {
  readonly settings: RenderSettings;
  /** Undefined: there are none, and the version rule refuses each component. */
  readonly releases: Releases | undefined;
  readonly hubId: string | undefined;
}

/** Returns a function that looks at the components of one cluster, whose specs name the version already. Results are by uid of the component. */
export function readUpgrades(
  components: readonly Component[],
  deps: LookDeps,
): ReadOne<readonly (readonly [uid: string, found: UpgradeLook])[]> {
  return async ({ id, client }, signal) => {
    const kubernetesVersion = (await readKubernetesVersion(client, signal)) ?? null;
    const here = components.filter((component) => targetId(component) === id);
    return Promise.all(
      here.map(async (component) => {
        const found = await readUpgrade(component, { client, ...deps }, signal);
        return [component.metadata.uid, { ...found, kubernetesVersion }] as const;
      }),
    );
  };
}

type OneDeps = LookDeps & { readonly client: KubeClient };

async function readUpgrade(
  component: Component,
  deps: OneDeps,
  signal: AbortSignal,
): Promise<Omit<UpgradeLook, "kubernetesVersion">> {
  // Rendered without the installed version and that of Kubernetes: what they refuse is told beside the changes, not in their place.
  const { status: _, ...bare } = component;
  const refusal = deps.releases === undefined ? versionRefusal(component) : undefined;
  const made = refusal ?? (await comparableOf(bare, deps.settings));
  const [look, rights, storedVersions] = await Promise.all([
    lookAt(bare, { made, ...deps }, signal).catch((error: unknown) => deniedLook(bare, error)),
    readRights(component, deps, signal),
    readStoredVersions(made, deps.client, signal),
  ]);
  return { look, rights, storedVersions };
}

/** What is known of the changes without the right to read what is installed: the missing rights are told all the same. Throws every other error again. */
function deniedLook(component: Component, error: unknown): Look {
  const message = foreignText(deniedMessage(error));
  const errors = [installationError(component, { reason: "Forbidden", message })];
  return { version: null, blocked: null, warnings: [], changes: null, errors };
}

/** What the identity lacks for the version; null when the version cannot be rendered, or when the cluster does not say. */
async function readRights(
  component: Component,
  { client, settings, releases }: OneDeps,
  signal: AbortSignal,
): Promise<Upgrade["rights"]> {
  if (releases === undefined) return null;
  const { namespaceOf } = settings;
  const version = component.spec?.version;
  const needs = await renderNeeds(component, { releases, version, namespaceOf }).catch(ifRefused);
  if (needs === undefined) return null;
  const [who, reviewed] = await Promise.all([
    whoAmI(client, signal).catch(ifDenied),
    reviewAll(permissionsFor(needs), client, signal).catch(ifDenied),
  ]);
  return reviewed === undefined ? null : upgradeRights(who?.username ?? "", reviewed);
}

function ifRefused(error: unknown): undefined {
  if (!(error instanceof FleetError)) throw error;
}

const atOnce = 8;

/** Null when the version cannot be rendered, or without the right to read CRDs. */
async function readStoredVersions(
  made: Comparable | FleetError,
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly StoredVersions[] | null> {
  if (made instanceof FleetError) return null;
  const wanted = made.manifests.filter(isDefinition);
  const names = wanted.flatMap(({ metadata }) => metadata.name ?? []);
  const resource = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");
  const found = await mapLimited(names, atOnce, async (name) => {
    const live = await client.get({ resource, name }, {}, signal);
    return live === undefined ? [] : [[name, live] as const];
  }).catch(ifDenied);
  return found === undefined ? null : storedVersionsOf(wanted, new Map(found.flat()));
}

function isDefinition({ apiVersion, kind }: Manifest): boolean {
  return kind === "CustomResourceDefinition" && apiVersion === "apiextensions.k8s.io/v1";
}
