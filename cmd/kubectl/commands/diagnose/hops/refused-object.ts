import type { KubeClient } from "../../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../../api/component.ts";
import { FleetError } from "../../../../../api/errors.ts";
import { foreignText, redactSecrets } from "../../../../../api/foreign-text.ts";
import { describe } from "../../../../../api/kubernetes.ts";
import { Preparations } from "../../../../../installation/desired.ts";
import { defaultSpokeNamespace } from "../../../../../installation/installation-namespace.ts";
import { scaledAmong } from "../../../../../installation/strip-manifests.ts";
import { openReleases } from "../../../../open-releases.ts";
import { checkReleases } from "../../../../release-files.ts";
import { comparableOf } from "../../../compare/comparable.ts";
import { dryRun } from "../../../compare/dry-run.ts";
import { readPlace } from "../../../compare/place.ts";
import type { RenderSettings } from "../../../compare/render-component.ts";
import { namespaceOfBy } from "../../../compare/rendering-options.ts";

/** Renders an object as the controller does, to find out why it is refused. */
export type Rendering = Pick<RenderSettings, "releases" | "preparations">;

const limitMs = 5_000;
// Spec: security.md T-51.
const longestWords = 256;

/** Releases of a folder, else those of the cache as far as it is complete; undefined when there are none. Fetches nothing. */
export async function renderingOf(
  releaseDir: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Rendering | undefined> {
  try {
    if (releaseDir !== undefined) return await openedOf(releaseDir);
    const { dir, problems } = await checkReleases({ environment });
    return problems.length === 0 ? await openedOf(dir) : undefined;
  } catch (error) {
    if (error instanceof FleetError) return undefined;
    throw error;
  }
}

async function openedOf(dir: string): Promise<Rendering> {
  return { releases: await openReleases(dir), preparations: new Preparations() };
}

interface Refused {
  readonly component: Component;
  /** Message of the controller: `ConfigMap a/b: …`. */
  readonly message: string;
  readonly rendering: Rendering;
  readonly client: KubeClient;
}

/**
 * What an admission webhook or policy says of the object that it refuses: the controller's own request, as a dry run. Undefined when that cannot be asked, or is not
 * refused any more. Never fails, but with the reason of the signal.
 */
export async function refusalWords(
  refused: Refused,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    return wordsIn((await serverSays(refused, limited)) ?? "");
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

async function serverSays(
  { component, message, rendering, client }: Refused,
  signal: AbortSignal,
): Promise<string | undefined> {
  const namespaceOf = namespaceOfBy(async () => defaultSpokeNamespace);
  const place = await readPlace(component, { client, hubId: undefined, namespaceOf }, signal);
  const settings = {
    ...rendering,
    namespaceOf,
    live: [],
    environment: {},
    anchorUid: undefined,
    kubernetesVersion: undefined,
    manifestText: undefined,
  };
  const made = await comparableOf(component, settings, { namespace: place.target.namespace });
  if (made instanceof FleetError) return undefined;
  const { desired, manifests } = made;
  const object = desired.objects.find(({ key }) => message.startsWith(`${describe(key)}: `));
  if (object === undefined) return undefined;
  const live = await client.get({ ...object.key, resource: object.resource }, {}, signal);
  const deps = { place, isScaled: scaledAmong(manifests) };
  const result = await dryRun(object, live, { deps, signal });
  return result.kind === "refused" ? result.message : undefined;
}

function wordsIn(answer: string): string | undefined {
  const said = /denied (?:the )?request: (?<words>[^]+)$/.exec(answer)?.groups?.["words"];
  return said === undefined ? undefined : foreignText(redactSecrets(said), longestWords);
}
