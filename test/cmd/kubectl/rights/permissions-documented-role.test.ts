// @module-tag release-files
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { parseDocument } from "yaml";

import { listAt, recordAt } from "../../../../api/fields.ts";
import { clusterRoleOf, loadEverything } from "../../../../cmd/kubectl/rights/needs.ts";
import { allWanted, permissionsFor } from "../../../../cmd/kubectl/rights/permissions.ts";
import { openReleases } from "../../../../cmd/open-releases.ts";
import { releaseDir } from "../../../e2e/release-dir.ts";

const documented: unknown = parseDocument(
  readFileSync(join(import.meta.dirname, "../../../../docs/spoke-role.yaml"), "utf8"),
).toJS();

function textsOf(role: unknown): readonly string[] {
  const texts = listAt(recordAt(role), "rules").flatMap((rule) => {
    const { apiGroups, resources, verbs } = recordAt(rule);
    return listOf(apiGroups).flatMap((group) =>
      listOf(resources).flatMap((resource) =>
        listOf(verbs).map((verb) => `${verb} ${resource}.${group}`),
      ),
    );
  });
  return [...new Set(texts)].toSorted();
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Kubernetes gives these to everybody who is known (system:basic-user), so the page leaves them out. */
const ofEverybody = [
  "create selfsubjectaccessreviews.authorization.k8s.io",
  "create selfsubjectreviews.authentication.k8s.io",
  "create selfsubjectrulesreviews.authorization.k8s.io",
];

describe("the ClusterRole of can-i --role", () => {
  // The page's role is what every installation on the test fleet runs with.
  test.each(["1.21", "1.22", "1.23"])(
    "for %s is the role of docs/spoke-role.yaml",
    async (version) => {
      const releases = await openReleases(await releaseDir());
      const needs = await Promise.all(
        (["KnativeServing", "KnativeEventing"] as const).map((kind) =>
          loadEverything(kind, { releases, version }),
        ),
      );
      const permissions = permissionsFor(allWanted(needs));
      const rights = textsOf(clusterRoleOf("x", permissions));
      expect(rights.filter((right) => !ofEverybody.includes(right))).toEqual(textsOf(documented));
      expect(rights).toEqual(expect.arrayContaining(ofEverybody));
    },
  );
});
