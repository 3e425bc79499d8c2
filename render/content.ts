import {
  type Component,
  type ComponentKind,
  componentKinds,
  operatorApiVersion,
} from "../api/component.ts";
import { FleetError } from "../api/errors.ts";
import { hashOf } from "./fields.ts";
import type { Releases } from "./release/releases.ts";
import { isCustom } from "./release/user-manifests.ts";
import { render, type RenderOptions } from "./render.ts";

/** Stands for a rendering about which nothing is promised. */
export const noDigest = "none";

const hashLength = 10;

/** The spec of a component and what it renders, as two hashes. */
export interface Content {
  readonly spec: string;
  /** Of the release files and the rendering, or `noDigest`. */
  readonly rendered: string;
}

/** The content of a component with these release files, in this knfleet. The same for every cluster and namespace, and whatever is installed. */
export async function contentOf(
  { kind, spec }: Pick<Component, "kind" | "spec">,
  releases: Releases,
  environment: RenderOptions["environment"],
): Promise<Content> {
  const { clusterProfileRef: _, ...own } = spec ?? {};
  const rendered = await renderedDigest({ kind, spec: own }, releases, environment);
  return { spec: hashOf(own).slice(0, hashLength), rendered };
}

/** Digest of what a spec renders from the release files, without the manifests of the user: these are not knfleet's to promise. Renderings are cached, so that equal specs cost one. */
export async function renderedDigest(
  { kind, spec }: { readonly kind: ComponentKind; readonly spec: Component["spec"] },
  releases: Releases,
  environment: RenderOptions["environment"] = {},
): Promise<string> {
  const { additionalManifests: _, ...released } = spec ?? {};
  const namespace = componentKinds[kind].label;
  const metadata = { name: kind.toLowerCase(), namespace, uid: "", resourceVersion: "" };
  const component: Component = { apiVersion: operatorApiVersion, kind, metadata, spec: released };
  if (isCustom(component)) return noDigest;
  try {
    const { hash } = await render(component, releases, { environment });
    return hash.slice(0, hashLength);
  } catch (error) {
    if (error instanceof FleetError) return noDigest;
    throw error;
  }
}
