import type { Component } from "../api/component.ts";
import type { ObjectKey } from "../api/kubernetes.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";
import { render } from "./render/render.ts";

/** What a component that was installed renders to; undefined when that cannot be said. */
export async function renderedObjects(
  component: Component,
  { releases, rendering, log }: Pick<ReconcileDeps, "releases" | "rendering" | "log">,
): Promise<readonly ObjectKey[] | undefined> {
  const { version } = component.status ?? {};
  const installed = version === undefined ? {} : { version };
  try {
    const spec = { ...component.spec, ...installed };
    const { manifests } = await render({ ...component, spec }, releases, rendering);
    return manifests.map(({ apiVersion, kind, metadata: { namespace, name = "" } }) => ({
      apiVersion,
      kind,
      name,
      ...(namespace === undefined ? {} : { namespace }),
    }));
  } catch (err) {
    log.debug({ err }, "What was installed cannot be rendered");
    return undefined;
  }
}
