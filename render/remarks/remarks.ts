import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { below, type FieldProblem } from "../../api/field-path.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { resourceFinder } from "../../api/resources.ts";
import { manifestsBefore } from "../assemble.ts";
import { isConfigMap, noSuchConfigMap, unusedConfig } from "../features/named-objects.ts";
import { applyPatch, maxPatches } from "../patches/patches.ts";
import type { Releases } from "../release/releases.ts";
import { userTextsOf } from "../release/user-manifests.ts";
import { overridesOf, transformOf } from "../transforms.ts";
import { sharedImageNames } from "../workloads/images.ts";
import { isAutoscalerOf, stoppedWorkloads } from "../workloads/scaling.ts";
import { autoscaledPatches, autoscaledReplicas } from "./autoscaled.ts";
import { unknownConfigKeys } from "./config-keys.ts";
import { ineffectiveFields, type Rendering } from "./ineffective-fields.ts";
import { keptImages, unreachedByPullSecrets } from "./kept-images.ts";
import { unmatchedNames } from "./release-names.ts";

/** What a user should know about a field of a spec that can be rendered. */
export interface Remark extends FieldProblem {
  readonly kind: "unmatched" | "config-key" | "autoscaled" | "images" | "without-effect";
}

export interface RemarksOptions {
  readonly releases: Releases;
  /** The version that is rendered. */
  readonly version: string;
  /** The text at a URL of the component's own manifests; required for a component that has some. */
  readonly manifestText?: ((url: string) => Promise<string>) | undefined;
  /** How many values of the spec are tried for an effect; absent: all. */
  readonly maxValues?: number;
  /** Ends the trials; the remarks so far are returned. */
  readonly signal?: AbortSignal;
}

/** What of a spec is not done, or not as it is written. Throws FleetError as `render` does. */
export async function remarksOn(
  component: Component,
  { releases, version, manifestText, maxValues, signal }: RemarksOptions,
): Promise<readonly Remark[]> {
  const { spec = {} } = component;
  const released = await objectsBefore(component, { releases, version, manifestText });
  const rendering = renderingOf(released, version);
  const usual = rendering(component);
  const rendered = patchedBy(component, usual);
  const config = spec.config ?? {};
  const found = [
    ...remarks("unmatched", unmatchedNames(spec, released)),
    ...remarks("unmatched", unusedEntries(config, released)),
    ...remarks("config-key", unknownConfigKeys(config, released)),
    ...remarks("autoscaled", autoscaledReplicas(component, released, rendered)),
    ...remarks("autoscaled", autoscaledPatches(usual, rendered)),
    ...remarks("images", keptImages(component, released, rendered)),
    ...remarks("images", unreachedByPullSecrets(component, released)),
  ];
  const isTold = (path: string): boolean => found.some((one) => isAbout(one.path, path));
  const trials = { rendering, usual, isTold, maxValues, signal };
  const { paths, untried } = await ineffectiveFields(component, trials);
  const message = "has no effect; leave it out";
  const idle = [...paths.map((path) => ({ path, message })), ...untriedValues(untried)];
  return [...found, ...remarks("without-effect", idle)];
}

function untriedValues(count: number): readonly FieldProblem[] {
  if (count === 0) return [];
  const values = count === 1 ? "1 more value was" : `${count} more values were`;
  const message = `${values} not tried for an effect; kubectl knfleet render -f FILE tries all`;
  return [{ path: "spec", message }];
}

/** All objects that a component is made of, before they are transformed. */
async function objectsBefore(
  component: Component,
  {
    releases,
    version,
    manifestText,
  }: Pick<RemarksOptions, "releases" | "version" | "manifestText">,
): Promise<readonly Manifest[]> {
  const { kind, spec = {} } = component;
  const [newest = version] = releases.versionsOf(kind);
  const custom = await userTextsOf(spec.manifests, version, manifestText);
  const additional = await userTextsOf(spec.additionalManifests, version, manifestText);
  return manifestsBefore(component, { version, newest, releases, custom, additional });
}

/** Objects after the patches that can be applied. What is wrong with the others is told where patches are checked. */
function patchedBy(
  { kind, spec }: Component,
  rendered: readonly (Manifest | undefined)[],
): readonly (Manifest | undefined)[] {
  const current = [...rendered];
  for (const [index, patch] of (spec?.patches ?? []).slice(0, maxPatches).entries()) {
    try {
      applyPatch(current, { patch, index }, kind);
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
    }
  }
  return current;
}

/** A remark as one line. */
export function remarkText({ path, message }: FieldProblem): string {
  return `${path}: ${message}`;
}

function remarks(kind: Remark["kind"], problems: readonly FieldProblem[]): readonly Remark[] {
  return problems.map((one) => ({ kind, ...one }));
}

function unusedEntries(config: object, released: readonly Manifest[]): readonly FieldProblem[] {
  const maps = released.filter(isConfigMap).map(({ metadata }) => metadata.name ?? "");
  return unusedConfig(config, maps).map((name) => ({
    path: below("spec", "config", name),
    message: `changes nothing: ${noSuchConfigMap}`,
  }));
}

/** True when a remark at one path says all about another one: the same part, or a part of what has the wrong name. */
function isAbout(told: string, path: string): boolean {
  const part = told.replace(/\.(?:name|container)$/, "");
  return path === part || path.startsWith(`${part}.`) || path.startsWith(`${part}[`);
}

function renderingOf(released: readonly Manifest[], version: string): Rendering {
  const resourceOf = resourceFinder(released);
  const sharedImages = sharedImageNames(released);
  // Their schemas have no field that a spec could be about.
  const settable = released.map((one) =>
    one.kind === "CustomResourceDefinition" ? undefined : one,
  );
  return (component) => {
    const stopped = stoppedWorkloads(overridesOf(component), released);
    const transform = transformOf(component, { version, resourceOf, stopped, sharedImages });
    return settable.map((one) =>
      one === undefined || isAutoscalerOf(stopped, one) ? undefined : transform(one),
    );
  };
}
