import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { codeOfRefusal, lastingRefusalIn, obstacleIn } from "../../access/kube/obstacle.ts";
import { type Component, componentKinds } from "../../api/component.ts";
import {
  managedClusterAnnotation,
  managedClusterOf,
  pushedBeforeAnnotation,
} from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import {
  recordedNamespace,
  spokeNamespaceAnnotation,
} from "../../installation/installation-namespace.ts";
import { asComponent, componentRef, hasFinalizer } from "../component-identity.ts";
import type { Next } from "../queue/delays.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import type { Attempt, ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { conclude } from "./report.ts";

/** The component has no finalizer, so nothing may be written to its target. Without a cause: the component is gone or being deleted. */
export class NotHeld extends Error {
  override readonly name = "NotHeld";
  override readonly cause: Error | undefined;

  constructor(cause?: Error) {
    super("The component has no finalizer", { cause });
    this.cause = cause;
  }
}

/** Runs an attempt that ends early when the component cannot be held. Rejects with the error of the hub. */
export async function whileHeld(run: () => Promise<Next>): Promise<Next> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof NotHeld)) throw error;
    if (error.cause === undefined) return { kind: "change" };
    throw error.cause;
  }
}

/** Whether anything was written to the target of a component, by its status and the memory of this process. */
export function wasWritten({ component, installation }: Subject): boolean {
  const { version, manifests = [] } = component.status ?? {};
  return version !== undefined || manifests.length > 0 || installation.wasInstalled;
}

/** Where the first write for a component goes, as far as it is known. */
interface Place {
  /** Namespace of the installation on the target. */
  readonly namespace?: string | undefined;
  /** Of a pulled component: the ManagedCluster in whose namespace its works are. */
  readonly cluster?: string | undefined;
}

type HoldDeps = Pick<ReconcileDeps, "hub"> & Place;

/**
 * Adds our finalizer and records the namespace of the installation, where they are missing. To be awaited before the first write to the target. Throws FleetError `ApplyFailed` when a
 * policy, a webhook or a quota of the hub does not take that, `NotHeld` with any other error of the hub as its cause, and the reason of the signal.
 */
export async function hold(
  attempt: Attempt,
  { hub: client, namespace, cluster }: HoldDeps,
  signal: AbortSignal,
): Promise<void> {
  const { installation, writer } = attempt;
  const edit = { client, namespace, cluster };
  const { latest } = writer;
  if (!hasFinalizer(latest)) {
    // When the answer is lost, the finalizer may be stored, but nothing is written to the target.
    if (!wasWritten(attempt)) installation.noteRequested();
    const held = await orThrowNotHeld(() => addFinalizer(latest, edit, signal), signal);
    if (held === undefined) throw new NotHeld();
    writer.noteNewer(held);
  }
  await orThrowNotHeld(() => recordPlace(writer, edit, signal), signal);
  signal.throwIfAborted();
  installation.noteHeld();
}

/** Runs a write of the hub. Its failure becomes the cause of `NotHeld`, unless somebody has to hear of it. */
async function orThrowNotHeld<T>(write: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await write();
  } catch (error) {
    signal.throwIfAborted();
    const sentence =
      "Nothing is written to the cluster, because the hub does not take the finalizer";
    const refusal = refusalOf(error, sentence);
    if (refusal !== undefined) throw refusal;
    throw error instanceof Error && !(error instanceof NotHeld) ? new NotHeld(error) : error;
  }
}

/** What the hub will refuse again, for the status of the component; undefined for an error that passes. A missing right is the hub's, and so has no code of a spoke. */
function refusalOf(cause: unknown, sentence: string): FleetError | undefined {
  const why = cause instanceof ApiError ? lastingRefusalIn(cause) : undefined;
  if (!(cause instanceof ApiError) || why === undefined) return undefined;
  const code = obstacleIn(cause) === undefined ? undefined : codeOfRefusal(cause);
  return new FleetError("ApplyFailed", `${sentence}: ${why}`, { ...(code && { code }), cause });
}

type Client = Pick<KubeClient, "get" | "patch">;

const maxAttempts = 5;

/** Adds our finalizer and, if it is known, the namespace of the installation. Undefined when the component is gone or being deleted. Other finalizers stay. */
export function addFinalizer(
  component: Component,
  { client, ...place }: { readonly client: Client } & Place,
  signal: AbortSignal,
): Promise<Component | undefined> {
  const annotations = recordsOf(component, place);
  return editFinalizers(component, { client, isHeld: true, annotations }, signal);
}

/** Removes our finalizer. Other finalizers stay. Nothing happens to a component that is gone. */
export async function removeFinalizer(
  component: Component,
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  await editFinalizers(component, { client, isHeld: false, annotations: {} }, signal);
}

/** Removes our finalizer as the last act of a removal: the hub may delete the component. What the hub refuses is told in the status. Rejects with any other error of the hub. */
export async function release(
  attempt: Attempt,
  deps: Parameters<typeof conclude>[1] & Pick<ReconcileDeps, "hub">,
  signal: AbortSignal,
): Promise<Next> {
  const { installation, writer } = attempt;
  try {
    await removeFinalizer(writer.latest, deps.hub, signal);
  } catch (cause) {
    signal.throwIfAborted();
    const sentence = "Everything is removed, but the hub does not let the finalizer go";
    const error = refusalOf(cause, sentence);
    if (error === undefined) throw cause;
    const steps = { eligible: true, resolved: true };
    const outcome = { kind: "failed", steps, error, isRemoval: true } as const;
    return conclude({ ...attempt, outcome }, deps, signal);
  }
  installation.noteReleased();
  return { kind: "done" };
}

interface Edit {
  readonly client: Client;
  /** Whether the component is to have our finalizer. */
  readonly isHeld: boolean;
  /** Set by the same request. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Patches with the version that was read, and reads again after a conflict. */
async function editFinalizers(
  component: Component,
  { client, isHeld, annotations }: Edit,
  signal: AbortSignal,
): Promise<Component | undefined> {
  let current = component;
  for (let attempt = 1; ; attempt += 1) {
    if (isHeld && current.metadata.deletionTimestamp !== undefined) return undefined;
    if (hasFinalizer(current) === isHeld) return current;
    try {
      const patch = patchOf(current, { isHeld, annotations });
      return asComponent(await client.patch(componentRef(current), patch, {}, signal));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) return undefined;
      if (error.status !== 409 || attempt === maxAttempts) throw error;
      const stored = asComponent(await client.get(componentRef(current), {}, signal));
      if (stored?.metadata.uid !== component.metadata.uid) return undefined;
      current = stored;
    }
  }
}

function patchOf(
  { kind, metadata }: Component,
  { isHeld, annotations }: Omit<Edit, "client">,
): Record<string, unknown> {
  const { finalizer } = componentKinds[kind];
  const others = (metadata.finalizers ?? []).filter((name) => name !== finalizer);
  const finalizers = isHeld ? [...others, finalizer] : others;
  const { uid, resourceVersion } = metadata;
  const added = Object.keys(annotations).length === 0 ? {} : { annotations };
  return { metadata: { uid, resourceVersion, finalizers, ...added } };
}

/** The annotations that record where an installation is; empty when they are recorded, not known, or not needed because the target is the hub. */
function recordsOf(
  component: Component,
  { namespace, cluster }: Place,
): Readonly<Record<string, string>> {
  if (component.spec?.clusterProfileRef === undefined) return {};
  const hasNamespace = namespace === undefined || recordedNamespace(component) === namespace;
  const hasCluster = cluster === undefined || managedClusterOf(component) === cluster;
  const isPushed = !hasCluster && hasFinalizer(component);
  return {
    ...(hasNamespace ? {} : { [spokeNamespaceAnnotation]: namespace }),
    ...(hasCluster ? {} : { [managedClusterAnnotation]: cluster }),
    ...(isPushed ? { [pushedBeforeAnnotation]: "true" } : {}),
  };
}

/** Records where the installation is on the component before the first write to the target. After a crash, only this record may say where that write went. */
async function recordPlace(
  writer: Pick<StatusWriter, "latest" | "noteNewer">,
  { client, ...place }: { readonly client: Pick<KubeClient, "patch"> } & Place,
  signal: AbortSignal,
): Promise<void> {
  const annotations = recordsOf(writer.latest, place);
  if (Object.keys(annotations).length === 0) return;
  try {
    await annotate(writer, { client, annotations }, signal);
  } catch (error) {
    // The component is gone, or another one has its name.
    if (error instanceof ApiError && [404, 409].includes(error.status)) throw new NotHeld();
    throw error;
  }
}

interface Annotating {
  readonly client: Pick<KubeClient, "patch">;
  /** Null takes an annotation off. */
  readonly annotations: Readonly<Record<string, string | null>>;
}

/** Writes annotations of the component of a writer. Rejects with the error of the hub. */
export async function annotate(
  writer: Pick<StatusWriter, "latest" | "noteNewer">,
  { client, annotations }: Annotating,
  signal: AbortSignal,
): Promise<void> {
  const { latest } = writer;
  // The uid protects another component with the same name.
  const patch = { metadata: { uid: latest.metadata.uid, annotations } };
  const written = asComponent(await client.patch(componentRef(latest), patch, {}, signal));
  if (written !== undefined) writer.noteNewer(written);
}
