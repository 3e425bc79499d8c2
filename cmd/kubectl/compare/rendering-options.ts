import { Option } from "commander";

import type { Component } from "../../../api/component.ts";
import {
  defaultSpokeNamespace,
  installationNamespace,
  possibleNamespaces,
  type SpokeNamespaceMode,
  spokeNamespaceModes,
} from "../../../installation/installation-namespace.ts";
import { releaseDirOption, several } from "../common-options.ts";
import { oneOf } from "../flags.ts";
import type { controllerRules } from "./controller-rules.ts";

/** Flags of the commands that render what the controller would, as they come from the command line. */
export interface RenderingFlags extends SpokeNamespaceFlag {
  readonly releaseDir?: string;
  readonly manifestsFrom?: string;
  readonly manifestSource?: readonly string[];
}

/** The same on the command line. */
export function renderingOptions(): readonly Option[] {
  return [
    releaseDirOption(),
    new Option(
      "--manifests-from <folder>",
      "folder for manifests whose URL is file:NAME in the spec",
    ),
    new Option(
      "--manifest-source <url>",
      "https prefix from which manifests of the spec are fetched; can be repeated (default: those of the hub's controller)",
    ).argParser(several),
    spokeNamespaceFlag(),
  ];
}

/** Where a component is installed, or is to be. `found`: as for `installationNamespace`. */
export type NamespaceOf = (component: Component, found?: readonly string[]) => Promise<string>;

/** The same by a mode, which is asked for only where nothing else says it. */
export function namespaceOfBy(mode: () => Promise<SpokeNamespaceMode>): NamespaceOf {
  return async (component, found = []) => {
    const [one, ...others] = spokeNamespaceModes.map((each) =>
      installationNamespace(component, each, found),
    );
    if (one !== undefined && others.every((other) => other === one)) return one;
    return installationNamespace(component, await mode(), found);
  };
}

/** The flag that names a mode, as it comes from the command line. */
export interface SpokeNamespaceFlag {
  readonly spokeNamespace?: string;
}

/** The same on the command line. */
export function spokeNamespaceFlag(): Option {
  return new Option(
    "--spoke-namespace <mode>",
    "namespace of new installations on spokes: Component|Canonical (default: as the hub's controller has it, else Canonical)",
  );
}

/** The mode that the command line names, if it names one. Throws UsageError. */
export function namedMode({
  spokeNamespace: text,
}: SpokeNamespaceFlag): SpokeNamespaceMode | undefined {
  return text === undefined ? undefined : oneOf(text, spokeNamespaceModes, "--spoke-namespace");
}

/** The same as the controller on the hub sees it, unless the command line names a mode. Throws UsageError. */
export function namespaceOfHub(
  options: SpokeNamespaceFlag,
  rules: () => ReturnType<typeof controllerRules>,
): NamespaceOf {
  const named = namedMode(options);
  return namespaceOfBy(async () => {
    if (named !== undefined) return named;
    const found = await rules();
    return typeof found === "string" ? defaultSpokeNamespace : found.spokeNamespace;
  });
}

/** The namespaces of a cluster in which components may be installed. */
export function namespacesOf(components: readonly Component[]): readonly string[] {
  return [...new Set(components.flatMap(possibleNamespaces))];
}
