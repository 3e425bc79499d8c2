import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import {
  assertKubernetesVersion,
  minorOf,
  targetVersion,
} from "../../../../render/release/version.ts";
import type { ControllerVersion } from "./controller-version.ts";

/** Two versions that do not agree. */
export interface Skew {
  /**
   * `Wanted`: the spec's and the installed one; `Live`: the installed one and that of Deployments; `Kubernetes`: the cluster is too old for Knative;
   * `Controller`: the controller's and this program's.
   */
  readonly between: "Wanted" | "Live" | "Kubernetes" | "Controller";
  readonly message: string;
}

/** What of one installation does not agree; what is not known agrees. */
export function skewOf(component: Component, { known, live, kubernetes }: Facts): readonly Skew[] {
  return [
    ...wantedSkew(component, known),
    ...liveSkew(component, live ?? []),
    ...(kubernetes === null ? [] : tooOld(kubernetes)),
  ];
}

interface Facts {
  /** Versions that this release of knfleet brings, newest first. */
  readonly known: readonly string[];
  /** Null when the cluster was not read. */
  readonly live: readonly LiveVersion[] | null;
  readonly kubernetes: string | null;
}

function wantedSkew({ spec, status }: Component, known: readonly string[]): readonly Skew[] {
  const wanted = spec?.version ?? "";
  const installed = status?.version ?? "";
  // Without a number the controller chooses among its own.
  if (!/\d/.test(wanted)) return [];
  if (targetVersion(wanted, known) === installed || minorOf(installed) === wanted) return [];
  const there = installed === "" ? "nothing" : installed;
  return [skew("Wanted", `${wanted} is wanted, ${there} is installed`)];
}

function liveSkew({ kind, status }: Component, live: readonly LiveVersion[]): readonly Skew[] {
  const installed = status?.version ?? "";
  const foreign = installed === "" ? [] : foreignTo(installed, live);
  if (foreign.length === 0) return [];
  const count = foreign.reduce((sum, { deployments }) => sum + deployments, 0);
  const versions = foreign.map(({ version }) => version).join(", ");
  return [skew("Live", `${count} of the Deployments of ${kind} are of ${versions}`)];
}

/** How many Deployments are of a version; null where none is told. */
export interface LiveVersion {
  readonly version: string | null;
  readonly deployments: number;
}

/** An ingress may be of another patch than Serving: that is no skew as long as something is of the installed version. */
function foreignTo(installed: string, live: readonly LiveVersion[]): readonly LiveVersion[] {
  const numbered = live.filter(({ version }) => /^\d+\.\d+/.test(version ?? ""));
  const isThere = numbered.some(({ version }) => version === installed);
  return numbered.filter(({ version }) =>
    isThere ? minorOf(version ?? "") !== minorOf(installed) : true,
  );
}

function tooOld(kubernetes: string): readonly Skew[] {
  try {
    assertKubernetesVersion(kubernetes, {});
    return [];
  } catch (error) {
    if (error instanceof FleetError) return [skew("Kubernetes", error.message)];
    throw error;
  }
}

/** Whether the controllers of knfleet on the hub are of another minor version than this program. */
export function controllerSkew(
  controllers: readonly ControllerVersion[] | null,
  client: string,
): readonly Skew[] {
  return (controllers ?? []).flatMap(({ flavour, namespace, name, version }) => {
    if (flavour !== "knfleet" || version === null) return [];
    if (minorOf(version) === minorOf(client)) return [];
    const message = `${namespace}/${name} is ${version}, this program ${client}`;
    return [skew("Controller", message)];
  });
}

function skew(between: Skew["between"], message: string): Skew {
  return { between, message };
}
