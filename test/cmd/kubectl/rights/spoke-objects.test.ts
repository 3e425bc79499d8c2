import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { usualAccount } from "../../../../cmd/kubectl/commands/register/register-request.ts";
import { spokeManifests, spokeNamespace } from "../../../../cmd/kubectl/rights/spoke-objects.ts";

const docs = join(import.meta.dirname, "../../../../docs");

function keysIn(file: string): readonly string[] {
  return parseAllDocuments(readFileSync(join(docs, file), "utf8")).map((document) => {
    const { kind, metadata } = document.toJS();
    return `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
  });
}

test("a hub with the documented roles may be a spoke of another hub: register makes none of their objects", () => {
  const profile = { namespace: "fleet", name: "eu-1" };
  const absent = { namespace: undefined, account: undefined, role: undefined, binding: undefined };
  const made = spokeManifests({ profile, hubUid: "u", account: usualAccount }, absent).map(
    ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`,
  );
  expect(made).toContain(`ServiceAccount ${spokeNamespace}/${usualAccount}`);
  // The role of a spoke is meant to be that of spoke-role.yaml.
  const roles = readdirSync(docs).filter((name) => name.endsWith("-role.yaml"));
  const documented = roles.filter((name) => name !== "spoke-role.yaml").flatMap(keysIn);
  expect(documented).toContain("ClusterRole /knfleet-hub");
  expect(made.filter((key) => documented.includes(key))).toEqual([]);
});
