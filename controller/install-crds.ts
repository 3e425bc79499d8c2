import { ApiError } from "../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../access/kube/kube-client.ts";
import { logFailure } from "../access/log.ts";
import { type Clock, delay } from "../access/time/clock.ts";
import { allKinds, type ComponentKind, operatorApiVersion } from "../api/component.ts";
import { conditionOf } from "../api/conditions.ts";
import { FleetError } from "../api/errors.ts";
import { listAt, recordAt } from "../api/fields.ts";
import { foreignText } from "../api/foreign-text.ts";
import type { Condition, KubeObject, Manifest } from "../api/kubernetes.ts";
import { knownResource } from "../api/resources.ts";
import { crdNameOf, crdOf } from "../api/schema/component-crd.ts";
import { newestFirst } from "../render/release/version.ts";
import type { Log } from "./log.ts";

/** Where CRDs are installed, and by what. */
export interface CrdInstallation {
  readonly client: Pick<KubeClient, "get" | "apply">;
  /** Version of this program. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Annotation on a CRD that `--install-crds` brought: the version of the program that did. */
const versionAnnotation = "knfleet.dev/crd-version";
// Not that of a hub: whichever controller runs on the cluster, it is the same CRD.
const fieldManager = "knfleet-crds";
/** The part of a CRD that is read. */
type Stored = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };

const resource = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");
const retryMs = 2_000;
const lookMs = 100;
const servedVersion = operatorApiVersion.slice(operatorApiVersion.indexOf("/") + 1);

/**
 * Brings the CRDs of the components to a cluster, and waits until it serves them. Leaves a CRD as it is that somebody else brought or a newer version of this
 * program. Waits for a cluster that does not answer. Throws FleetError `ConfigInvalid` when the cluster refuses a CRD, when somebody else has
 * changed ours, or when somebody else's does not serve the version that the controller works with.
 */
export async function installCrds(options: CrdInstallation, signal: AbortSignal): Promise<void> {
  await Promise.all(allKinds.map((kind) => installCrd(kind, options, signal)));
}

async function installCrd(
  kind: ComponentKind,
  { client, version, clock, log }: CrdInstallation,
  signal: AbortSignal,
): Promise<void> {
  const crd = crdNameOf(kind);
  const ref = { resource, name: crd };
  for (;;) {
    try {
      const live = await client.get(ref, {}, signal);
      const stored = isLeft(live, version)
        ? live
        : await applyCrd(ref, { client, manifest: manifestOf(kind, version) }, signal);
      if (isEstablished(stored)) {
        const by = stored.metadata.annotations?.[versionAnnotation];
        log.info({ crd, version: by ?? "of somebody else" }, "The CRD is there");
        return;
      }
      await delay(clock, lookMs, signal);
    } catch (err) {
      signal.throwIfAborted();
      if (err instanceof FleetError) throw err;
      logFailure(log, "warn", { err, crd }, "Cannot install the CRD");
      await delay(clock, retryMs, signal);
    }
  }
}

/** Whether a CRD is to stay as it is. */
function isLeft(live: KubeObject | undefined, version: string): live is KubeObject {
  if (live === undefined) return false;
  const by = live.metadata.annotations?.[versionAnnotation];
  if (by !== undefined) return newestFirst(by, version) < 0;
  if (!isServing(live)) throw refusal(live.metadata.name, `does not serve ${operatorApiVersion}`);
  return true;
}

async function applyCrd(
  ref: ObjectRef,
  { client, manifest }: Pick<CrdInstallation, "client"> & { readonly manifest: Manifest },
  signal: AbortSignal,
): Promise<KubeObject> {
  try {
    // Without force: what somebody else has changed is said, and not fought about.
    return await client.apply(ref, manifest, { fieldManager }, signal);
  } catch (error) {
    // A server that is busy or starts is asked again.
    if (!(error instanceof ApiError) || error.status >= 500 || error.status === 429) throw error;
    const text = foreignText(error.message, 300);
    throw refusal(ref.name, `cannot be written: ${text}`, error);
  }
}

function refusal(name: string, problem: string, cause?: unknown): FleetError {
  const text = `--install-crds: the CRD ${name} ${problem}`;
  return new FleetError("ConfigInvalid", text, { cause });
}

function manifestOf(kind: ComponentKind, version: string): Manifest {
  const { spec } = crdOf(kind);
  const { apiVersion, kind: crdKind } = resource;
  const annotations = { [versionAnnotation]: version };
  return { apiVersion, kind: crdKind, metadata: { name: crdNameOf(kind), annotations }, spec };
}

function isServing({ spec }: Manifest & { readonly spec?: unknown }): boolean {
  return listAt(recordAt(spec), "versions")
    .map((one) => recordAt(one))
    .some(({ name, served }) => name === servedVersion && served === true);
}

function isEstablished({ status }: Stored): boolean {
  return conditionOf(status?.conditions, "Established")?.status === "True";
}
