import { FleetError } from "../../../../api/errors.ts";
import { lockedReleases } from "../../../release-files.ts";
import { knownVersions, type KnownVersions } from "./next-version.ts";

/** The versions that this release of knfleet brings; none where its list of releases is not beside it. */
export async function knownReleases(): Promise<KnownVersions> {
  try {
    return knownVersions(await lockedReleases());
  } catch (error) {
    if (error instanceof FleetError) return { KnativeServing: [], KnativeEventing: [] };
    throw error;
  }
}
