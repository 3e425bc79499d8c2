import type { Log } from "../../access/log.ts";
import type { Releases } from "../../render/release/releases.ts";
import { openFoundReleases } from "../open-releases.ts";

/** The folder of the release files in the images of the controller and the webhook. */
const imageReleases = "/var/lib/knfleet/releases";

interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** Opens the releases that `--release-dir` names, else those of KNFLEET_RELEASE_DIR, of the image, or of the cache. Throws FleetError. */
export async function openServiceReleases(
  named: string | undefined,
  { environment, log }: Surroundings,
  signal: AbortSignal,
): Promise<Releases> {
  const onSlow = (line: string): void => log.info({}, line);
  const wanted = { named, usual: imageReleases, environment, onSlow };
  const releases = await openFoundReleases(wanted, signal);
  const serving = releases.versionsOf("KnativeServing");
  const eventing = releases.versionsOf("KnativeEventing");
  log.info({ releaseDir: releases.dir, serving, eventing }, "Release files");
  return releases;
}
