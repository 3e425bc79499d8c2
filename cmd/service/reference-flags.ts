import { Option } from "commander";

import { type ReferenceMode, referenceModes } from "../../access/providers/reference-policy.ts";
import type { ReferenceSettings } from "../../access/providers/references.ts";
import { withText } from "./flag-values.ts";

/** Who may use which ClusterProfile, as both programs are told. */
export interface ReferenceFlags {
  readonly referenceMode: ReferenceMode;
  readonly referenceGrants: string | undefined;
  readonly trustedInventoryNamespace: readonly string[];
  readonly trustedClusterManager: readonly string[];
}

/** The flags; docs/flags.md is held to them. */
export function referenceOptions(): readonly Option[] {
  return [
    new Option(
      "--reference-mode <mode>",
      "ClusterProfiles that components may name: of their own namespace, of those that they are granted, or any",
    )
      .choices(referenceModes)
      .default("Any"),
    new Option(
      "--reference-grants <file>",
      "with --reference-mode=Granted: who may use ClusterProfiles of another namespace, YAML or JSON",
    ),
    new Option(
      "--trusted-inventory-namespace <name>",
      "namespace whose ClusterProfiles are believed; can be given several times",
    )
      .argParser(withText)
      .default([], "all"),
    new Option(
      "--trusted-cluster-manager <name>",
      "spec.clusterManager.name of ClusterProfiles that are believed; can be given several times",
    )
      .argParser(withText)
      .default([], "all"),
  ];
}

/** The flags as the settings that they stand for. */
export function referenceSettings(flags: ReferenceFlags): ReferenceSettings {
  const { referenceMode: mode, referenceGrants: grantsFile } = flags;
  const { trustedInventoryNamespace: namespaces, trustedClusterManager: managers } = flags;
  return {
    mode,
    ...(grantsFile === undefined ? {} : { grantsFile }),
    ...(namespaces.length === 0 ? {} : { trustedNamespaces: namespaces }),
    ...(managers.length === 0 ? {} : { trustedManagers: managers }),
  };
}
