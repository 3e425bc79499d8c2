import { describe, expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { reasons } from "../../../api/reasons.ts";
import {
  assertEligible,
  minorOf,
  newestFirst,
  targetVersion,
} from "../../../render/release/version.ts";

const available = ["1.23.0", "1.22.1", "1.22.0", "1.20.3"];

describe("the target version", () => {
  test.each([
    { wanted: undefined, target: "1.23.0" },
    { wanted: "", target: "1.23.0" },
    { wanted: "latest", target: "1.23.0" },
    { wanted: "LATEST", target: "1.23.0" },
    { wanted: "1.22.0", target: "1.22.0" },
    { wanted: "1.22", target: "1.22.1" },
    { wanted: "v1.22", target: "1.22.1" },
    { wanted: "v1.22.1", target: "1.22.1" },
    { wanted: "1.2", target: "1.2" },
    { wanted: "1.21", target: "1.21" },
    { wanted: "1.23.9", target: "1.23.9" },
    { wanted: "1", target: "1" },
    { wanted: "nightly", target: "nightly" },
    { wanted: "../../etc", target: "../../etc" },
  ])("of $wanted is $target", ({ wanted, target }) => {
    expect(targetVersion(wanted, available, "KnativeServing")).toBe(target);
  });

  test.each([
    { wanted: "latest", target: "latest" },
    { wanted: "Latest", target: "1.23.0" },
    { wanted: undefined, target: "1.23.0" },
  ])("of $wanted is $target when a folder is named latest", ({ wanted, target }) => {
    expect(targetVersion(wanted, [...available, "latest"], "KnativeServing")).toBe(target);
  });

  test("cannot be found when nothing is available", () => {
    expect(() => targetVersion(undefined, [], "KnativeEventing")).toThrow(
      expect.objectContaining({
        reason: "ReleaseNotFound",
        message: "The release directory holds no version of KnativeEventing",
      }),
    );
    // What to do has to work here, too.
    expect(reasons.ReleaseNotFound.next).toMatch(/^Add the wanted release .*if there is one\.$/);
  });
});

describe("versions", () => {
  test("are sorted by semver, newest first, other names last", () => {
    const newest = [
      "10.0.0",
      "1.23.1",
      "1.23.0",
      "1.23.0-rc.2",
      "1.23.0-rc.1",
      "1.23.0-rc",
      "1.23.0-1",
      "1.9.0",
      "latest",
      "nightly",
    ];
    expect(newest.toReversed().toSorted(newestFirst)).toEqual(newest);
    expect(newest.toSorted(newestFirst)).toEqual(newest);
  });

  test.each([
    { version: "1.23.4", minor: "1.23" },
    { version: "v1.23.4", minor: "1.23" },
    { version: "1.23", minor: "1.23" },
    { version: "latest", minor: "latest" },
  ])("the minor of $version is $minor", ({ version, minor }) => {
    expect(minorOf(version)).toBe(minor);
  });
});

describe("a migration", () => {
  test.each([
    { installed: undefined, target: "1.23.0" },
    { installed: "", target: "1.23.0" },
    { installed: "latest", target: "1.20.0" },
    { installed: "1.10.0", target: "latest" },
    { installed: "1.22.0", target: "1.23.0" },
    { installed: "1.23.0", target: "1.22.1" },
    { installed: "1.23.0", target: "1.23.9" },
    { installed: "0.26.1", target: "1.0.0" },
    { installed: "1.0.0", target: "0.26.0" },
    { installed: "v1.22.0", target: "v1.23.0" },
  ])("from $installed to $target is eligible", ({ installed, target }) => {
    expect(assertEligible({ kind: "KnativeServing", installed, target })).toBeUndefined();
  });

  const across = "not supported to upgrade or downgrade across";
  test.each([
    {
      installed: "1.21.3",
      target: "1.23.0",
      text: `${across} multiple MINOR versions. The installed KnativeEventing version is v1.21.3`,
    },
    {
      installed: "1.23.0",
      target: "1.21.0",
      text: `${across} multiple MINOR versions. The installed KnativeEventing version is v1.23.0`,
    },
    {
      installed: "0.25.0",
      target: "1.0.0",
      text: `${across} the MAJOR version. The installed KnativeEventing version is v0.25.0`,
    },
    {
      installed: "nonsense",
      target: "1.0.0",
      text: `${across} the MAJOR version. The installed KnativeEventing version is vnonsense`,
    },
    {
      installed: undefined,
      target: "1",
      text: "target version v1 should at least include the major and minor numbers",
    },
    {
      installed: undefined,
      target: "nightly",
      text: "target version vnightly is not in a valid semantic versioning format",
    },
    {
      installed: undefined,
      target: " 1.23.0",
      text: "target version v 1.23.0 is not in a valid semantic versioning format",
    },
    {
      installed: undefined,
      target: "1.02.0",
      text: "target version v1.02.0 is not in a valid semantic versioning format",
    },
  ])("from $installed to $target is not eligible", ({ installed, target, text }) => {
    const migrate = () => assertEligible({ kind: "KnativeEventing", installed, target });
    expect(migrate).toThrow(new FleetError("VersionNotEligible", text));
    expect(migrate).toThrow(expect.objectContaining({ reason: "VersionNotEligible" }));
  });
});
