import { FleetError } from "../../../../api/errors.ts";
import { findReleases, type FindReleasesOptions } from "../../../find-releases.ts";
import { type ReleaseVersions, versionsIn } from "../../../release-versions.ts";

/** The release files with which this program renders. */
export interface OwnReleases extends ReleaseVersions {
  /** Null when there are none on this machine. */
  readonly folder: string | null;
  /** Why there are none; null where there are. */
  readonly problem: string | null;
}

/** Finds the release files as every command does, but fetches nothing. */
export async function readOwnReleases(
  wanted: Pick<FindReleasesOptions, "named" | "settled" | "environment">,
  signal: AbortSignal,
): Promise<OwnReleases> {
  try {
    const { dir: folder } = await findReleases({ ...wanted, fetches: false }, signal);
    return { folder, ...(await versionsIn(folder)), problem: null };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { folder: null, KnativeServing: [], KnativeEventing: [], problem: error.message };
  }
}

/** The line of `version` about them. */
export function releasesLine(releases: OwnReleases): string {
  const { folder, problem, KnativeServing: serving, KnativeEventing: eventing } = releases;
  const kinds = [
    ["Serving", serving],
    ["Eventing", eventing],
  ] as const;
  const held = kinds
    .filter(([, versions]) => versions.length > 0)
    .map(([kind, versions]) => `${kind} ${versions.join(", ")}`);
  return `Release Files: ${folder ?? "<none>"} (${problem ?? held.join("; ")})`;
}
