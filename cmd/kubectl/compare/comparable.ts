import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import type { Desired } from "../../../controller/apply/prepare.ts";
import { render } from "../../../controller/render/render.ts";
import type { RenderSettings } from "../render/render-component.ts";

/** What the controller of this version makes of a component. */
export interface Comparable {
  readonly version: string;
  readonly manifests: readonly Manifest[];
  readonly desired: Desired;
}

/** What is installed for a component, or the reason why this version would install nothing. Throws only what is a bug. */
export async function comparableOf(
  component: Component,
  { releases, preparations, manifestText }: RenderSettings,
  kubernetesVersion?: string,
): Promise<Comparable | FleetError> {
  try {
    const rendered = await render(component, releases, {
      ...(manifestText === undefined ? {} : { manifestText }),
      ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
    });
    const { version, manifests } = rendered;
    return { version, manifests, desired: preparations.of(rendered) };
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
}
