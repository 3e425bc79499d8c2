import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";
import { parse } from "yaml";

import { spokeRole } from "../../../../../cmd/kubectl/commands/register/spoke-role.ts";

test("register gives the hub the ClusterRole of docs/spoke-role.yaml", () => {
  const file = join(import.meta.dirname, "../../../../../docs/spoke-role.yaml");
  expect(spokeRole({})).toEqual(parse(readFileSync(file, "utf8")));
});
