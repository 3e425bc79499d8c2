import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";
import { parse } from "yaml";

import { spokeRole } from "../../installation/spoke-role.ts";

test("register and pull delivery give the ClusterRole of docs/spoke-role.yaml", () => {
  const file = join(import.meta.dirname, "../../docs/spoke-role.yaml");
  expect(spokeRole({})).toEqual(parse(readFileSync(file, "utf8")));
});
