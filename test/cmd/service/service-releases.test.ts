import { expect, test } from "vitest";

import { sampleDirOf } from "../../../cmd/release-files.ts";
import { versionsIn } from "../../../cmd/release-versions.ts";
import { openServiceReleases } from "../../../cmd/service/service-releases.ts";
import { silentLog } from "../../support/silent-log.ts";

const { signal } = new AbortController();

test("a service takes release files from its flag, else from KNFLEET_RELEASE_DIR, and logs the folder and its versions", async () => {
  const lines: object[] = [];
  const log = { ...silentLog, info: (fields: object) => void lines.push(fields) };
  const environment = { KNFLEET_RELEASE_DIR: "/no-such-folder" };
  const named = await openServiceReleases(sampleDirOf(), { environment, log }, signal);
  expect(named.dir).toBe(sampleDirOf());
  await expect(openServiceReleases(undefined, { environment, log }, signal)).rejects.toMatchObject({
    reason: "ConfigInvalid",
    message: "Release directory /no-such-folder, which KNFLEET_RELEASE_DIR names, does not exist",
  });
  const sample = { KNFLEET_RELEASE_DIR: sampleDirOf() };
  const found = await openServiceReleases(undefined, { environment: sample, log }, signal);
  expect(found.dir).toBe(sampleDirOf());
  const versions = await versionsIn(sampleDirOf());
  const line = {
    releaseDir: sampleDirOf(),
    serving: versions.KnativeServing,
    eventing: versions.KnativeEventing,
  };
  expect(line.serving).not.toEqual([]);
  expect(lines).toEqual([line, line]);
});
