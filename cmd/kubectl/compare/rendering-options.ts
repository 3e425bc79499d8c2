import { Option } from "commander";

import { several } from "../output/several.ts";
import { spokeNamespaceFlag, type SpokeNamespaceFlag } from "../spokes/spoke-namespace.ts";

/** Flags of the commands that render what the controller would, as they come from the command line. */
export interface RenderingFlags extends SpokeNamespaceFlag {
  readonly releaseDir?: string;
  readonly manifestsFrom?: string;
  readonly manifestSource?: readonly string[];
}

/** The same on the command line. */
export function renderingOptions(): readonly Option[] {
  return [
    new Option("--release-dir <folder>", "release files (default: those of the cache)"),
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
