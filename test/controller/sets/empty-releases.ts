import { FleetError } from "../../../api/errors.ts";
import { BoundedCache, type Releases } from "../../../render/release/releases.ts";

/** A release folder that lists versions and holds no file, so that nothing is rendered. */
export function emptyReleases(available: () => readonly string[] = () => []): Releases {
  return {
    dir: "/nowhere",
    versionsOf: available,
    load: () => Promise.reject(new FleetError("ReleaseNotFound", "There is no file")),
    rendered: new BoundedCache(1),
  };
}
