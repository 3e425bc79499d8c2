import type { Component } from "../../../api/component.ts";
import {
  defaultSpokeNamespace,
  installationNamespace,
  possibleNamespaces,
  type SpokeNamespaceMode,
  spokeNamespaceModes,
} from "../../../installation/installation-namespace.ts";
import { chosen, repeated, worded } from "../main/command-flags.ts";
import type { ControllerRules } from "./controller-rules.ts";

/** Values of the flags of commands that render as the controller does. */
export interface RenderingFlags extends SpokeNamespaceFlag {
  readonly manifestsFrom?: string;
  readonly manifestSource?: readonly string[];
}

/** Finds the namespace of an installation. `found`: as for `installationNamespace`. */
export type NamespaceOf = (component: Component, found?: readonly string[]) => Promise<string>;

/** Finds the namespace by a mode. Asks for the mode only where the result depends on it. */
export function namespaceOfBy(mode: () => Promise<SpokeNamespaceMode>): NamespaceOf {
  return async (component, found = []) => {
    const [one, ...others] = spokeNamespaceModes.map((each) =>
      installationNamespace(component, each, found),
    );
    if (one !== undefined && others.every((other) => other === one)) return one;
    return installationNamespace(component, await mode(), found);
  };
}

/** Value of the flag `--spoke-namespace`. */
export interface SpokeNamespaceFlag {
  readonly spokeNamespace?: SpokeNamespaceMode;
}

/** The flag `--spoke-namespace`. `usual`: what it is without the flag. */
export function spokeNamespaceFlag(usual: string) {
  const text = `namespace of new installations on spokes: Component|Canonical (${usual})`;
  return chosen("--spoke-namespace <mode>", text, spokeNamespaceModes);
}

/** The flag `--spoke-namespace` of commands that read a hub. */
export const spokeNamespace = spokeNamespaceFlag(
  "default: as the hub's controller has it, else Canonical",
);

/** The flags of commands that render as the controller does. */
export const renderingFlags = {
  manifestsFrom: worded(
    "--manifests-from <folder>",
    "folder for manifests whose URL is file:NAME in the spec",
  ),
  manifestSource: repeated(
    "--manifest-source <url>",
    "https prefix from which manifests of the spec are fetched; can be repeated (default: those of the hub's controller)",
  ),
  spokeNamespace,
};

/** Finds the namespace by the mode of the command line, or else of the controller on the hub. Throws UsageError. */
export function namespaceOfHub(
  { spokeNamespace: named }: SpokeNamespaceFlag,
  rules: () => Promise<ControllerRules | string>,
): NamespaceOf {
  return namespaceOfBy(async () => {
    if (named !== undefined) return named;
    const found = await rules();
    return typeof found === "string" ? defaultSpokeNamespace : found.spokeNamespace;
  });
}

/** The namespaces of a cluster in which these components may be installed. */
export function namespacesOf(components: readonly Component[]): readonly string[] {
  return [...new Set(components.flatMap(possibleNamespaces))];
}
