import type { ComponentKind } from "../api/component.ts";
import { migrationRefusal } from "../render/release/version.ts";

/** The version that is installed on a cluster. */
export interface InstalledVersion {
  readonly kind: ComponentKind;
  /** `status.version`; absent before the first complete installation. */
  readonly installed: string | undefined;
}

/** Why a cluster may not go from its installed version to `version`, as a sentence; undefined when it may or `version` names none. Spec: knative-operator.md 2.3. */
export function refusedStep(
  { kind, installed }: InstalledVersion,
  version: unknown,
): string | undefined {
  if (typeof version !== "string") return undefined;
  return migrationRefusal({ kind, installed, target: version })?.message;
}
