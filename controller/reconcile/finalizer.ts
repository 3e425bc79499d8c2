import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { type Component, componentKinds } from "../../api/component.ts";
import { namespaceRecord } from "./namespace-record.ts";
import { asComponent, refOf } from "./stored-component.ts";

type Client = Pick<KubeClient, "get" | "patch">;

const maxAttempts = 5;

/** Whether the component may not go before its installation is removed. */
export function hasFinalizer({ kind, metadata }: Component): boolean {
  return (metadata.finalizers ?? []).includes(componentKinds[kind].finalizer);
}

/**
 * The component with our finalizer, and with the namespace that it is installed in, if that is known; undefined when it is gone or being deleted by now. Others'
 * finalizers stay.
 */
export function addFinalizer(
  component: Component,
  { client, namespace }: { readonly client: Client; readonly namespace?: string },
  signal: AbortSignal,
): Promise<Component | undefined> {
  const annotations = namespaceRecord(component, namespace);
  return editFinalizers(component, { client, wanted: true, annotations }, signal);
}

/** Lets the component go. */
export async function removeFinalizer(
  component: Component,
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  await editFinalizers(component, { client, wanted: false, annotations: {} }, signal);
}

interface Edit {
  readonly client: Client;
  readonly wanted: boolean;
  /** To be set by the same request. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Patches with the version that was read, and reads again after a conflict. */
async function editFinalizers(
  component: Component,
  { client, wanted, annotations }: Edit,
  signal: AbortSignal,
): Promise<Component | undefined> {
  let current = component;
  for (let attempt = 1; ; attempt += 1) {
    if (wanted && current.metadata.deletionTimestamp !== undefined) return undefined;
    if (hasFinalizer(current) === wanted) return current;
    try {
      const patch = patchOf(current, { wanted, annotations });
      return asComponent(await client.patch(refOf(current), patch, {}, signal));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) return undefined;
      if (error.status !== 409 || attempt === maxAttempts) throw error;
      const stored = asComponent(await client.get(refOf(current), {}, signal));
      if (stored?.metadata.uid !== component.metadata.uid) return undefined;
      current = stored;
    }
  }
}

function patchOf(
  { kind, metadata }: Component,
  { wanted, annotations }: Omit<Edit, "client">,
): Record<string, unknown> {
  const { finalizer } = componentKinds[kind];
  const others = (metadata.finalizers ?? []).filter((name) => name !== finalizer);
  const finalizers = wanted ? [...others, finalizer] : others;
  const { uid, resourceVersion } = metadata;
  const added = Object.keys(annotations).length === 0 ? {} : { annotations };
  return { metadata: { uid, resourceVersion, finalizers, ...added } };
}
