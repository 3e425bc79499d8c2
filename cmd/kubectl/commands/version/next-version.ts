import type { ComponentKind } from "../../../../api/component.ts";
import { componentKinds } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { assertEligible, newestFirst } from "../../../../render/release/version.ts";
import type { ReleaseLock } from "../../../release-lock.ts";

/** Versions of each kind that this release of knfleet brings, newest first. */
export type KnownVersions = Readonly<Record<ComponentKind, readonly string[]>>;

/** The versions of a lock file. */
export function knownVersions({ files }: Pick<ReleaseLock, "files">): KnownVersions {
  const of = (kind: ComponentKind): readonly string[] => {
    const folder = `${componentKinds[kind].label}/`;
    const names = files
      .filter(({ path }) => path.startsWith(folder))
      .map(({ path }) => path.slice(folder.length).split("/")[0] ?? "");
    return [...new Set(names)].toSorted(newestFirst);
  };
  return { KnativeServing: of("KnativeServing"), KnativeEventing: of("KnativeEventing") };
}

/** The newest version that an installation may be brought to in one step; null when it has it, or nothing is installed. */
export function nextVersion(
  kind: ComponentKind,
  installed: string | null,
  known: readonly string[],
): string | null {
  if (installed === null) return null;
  const newer = known.filter((version) => newestFirst(version, installed) < 0);
  return newer.find((target) => isEligible({ kind, installed, target })) ?? null;
}

function isEligible(migration: Parameters<typeof assertEligible>[0]): boolean {
  try {
    assertEligible(migration);
    return true;
  } catch (error) {
    if (error instanceof FleetError) return false;
    throw error;
  }
}
