import { abortable } from "../../access/deadline.ts";
import type { Component } from "../../api/component.ts";
import { keyOf, type ObjectKey } from "../../api/kubernetes.ts";
import { render } from "../../render/render.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";

type Deps = Pick<ReconcileDeps, "releases" | "rendering" | "log">;

/** What a component that was installed in a namespace renders to; undefined when that cannot be said. Rejects with the reason of the signal. */
export async function renderedObjects(
  component: Component,
  { releases, rendering, log, namespace }: Deps & { readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly ObjectKey[] | undefined> {
  const { version } = component.status ?? {};
  const installed = version === undefined ? {} : { version };
  try {
    const spec = { ...component.spec, ...installed };
    // A source of manifests may take its time.
    const working = render({ ...component, spec }, releases, { ...rendering, namespace });
    const { manifests } = await abortable(working, signal);
    return manifests.map(keyOf);
  } catch (err) {
    signal.throwIfAborted();
    log.debug({ err }, "What was installed cannot be rendered");
    return undefined;
  }
}
