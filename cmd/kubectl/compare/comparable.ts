import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import type { Desired } from "../../../controller/apply/prepare.ts";
import { render } from "../../../controller/render/render.ts";
import { mapLimited } from "../concurrency.ts";
import type { RenderSettings } from "../render/render-component.ts";

/** What the controller of this version makes of a component. */
export interface Comparable {
  readonly version: string;
  readonly manifests: readonly Manifest[];
  readonly desired: Desired;
}

const atOnce = 16;

/**
 * Lets the settings fetch what components bring by URL, for several of them at the same time, so that those who render them later need not wait for one
 * server after another, and not while a cluster waits. Throws only what is a bug, and the reason of an abort.
 */
export async function fetchManifests(
  components: readonly Component[],
  settings: RenderSettings,
): Promise<void> {
  const bringing = components.filter(
    ({ spec }) => (spec?.manifests ?? spec?.additionalManifests) !== undefined,
  );
  await mapLimited(bringing, atOnce, (one) => comparableOf(one, settings));
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
