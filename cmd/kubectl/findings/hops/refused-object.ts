import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { foreignText, redactSecrets } from "../../../../api/foreign-text.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { Preparations } from "../../../../installation/desired.ts";
import { defaultSpokeNamespace } from "../../../../installation/installation-namespace.ts";
import { scaledAmong } from "../../../../installation/strip-manifests.ts";
import type { FindReleasesOptions } from "../../../find-releases.ts";
import { openFoundReleases } from "../../../open-releases.ts";
import { comparableOf } from "../../compare/comparable.ts";
import { dryRun } from "../../compare/dry-run.ts";
import type { RenderSettings } from "../../compare/render-component.ts";
import { namespaceOfBy } from "../../compare/rendering-options.ts";
import { readTargetInstallation } from "../../compare/target-installation.ts";

/** Release files, to render a refused object as the controller does. */
export type Rendering = Pick<RenderSettings, "releases" | "preparations">;

const timeLimitMs = 5_000;
// Spec: security.md T-51.
const maxLength = 256;

/** Opens the releases that are on this machine; undefined without any. Fetches nothing. */
export async function openReleaseRendering(
  wanted: Pick<FindReleasesOptions, "named" | "settled" | "environment">,
  signal: AbortSignal,
): Promise<Rendering | undefined> {
  try {
    const releases = await openFoundReleases({ ...wanted, fetches: false }, signal);
    return { releases: async () => releases, preparations: new Preparations() };
  } catch (error) {
    if (error instanceof FleetError) return undefined;
    throw error;
  }
}

interface Refused {
  readonly component: Component;
  /** Message of the controller: `ConfigMap a/b: …`. */
  readonly message: string;
  readonly rendering: Rendering;
  readonly client: KubeClient;
}

/**
 * Sends the controller's request as a dry run, and returns what the admission webhook or policy says that refuses it. Undefined when the request cannot
 * be sent, or is no longer refused. Throws the reason of the signal only.
 */
export async function readRefusal(
  refused: Refused,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const limited = withTimeout(systemClock, timeLimitMs, signal);
    return webhookMessage((await askServer(refused, limited)) ?? "");
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

async function askServer(
  { component, message, rendering, client }: Refused,
  signal: AbortSignal,
): Promise<string | undefined> {
  const namespaceOf = namespaceOfBy(async () => defaultSpokeNamespace);
  const place = await readTargetInstallation(
    component,
    { client, hubId: undefined, namespaceOf },
    signal,
  );
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

function webhookMessage(answer: string): string | undefined {
  const said = /denied (?:the )?request: (?<words>[^]+)$/.exec(answer)?.groups?.["words"];
  return said === undefined ? undefined : foreignText(redactSecrets(said), maxLength);
}
