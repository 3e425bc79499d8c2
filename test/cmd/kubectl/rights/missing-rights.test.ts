import { expect, test } from "vitest";

import { missingRights, rightsToDelete } from "../../../../cmd/kubectl/rights/missing-rights.ts";
import { valueAt } from "../../../fleet/json-record.ts";
import { bareClient } from "../../../support/bare-client.ts";

const { signal } = new AbortController();
const secrets = ["a", "b"].map((name) => ({
  apiVersion: "v1",
  kind: "Secret",
  namespace: "fleet",
  name,
}));

/** The rights that a caller lacks who may delete some names, and what was asked. */
async function lacked(mayDelete: (name: unknown) => boolean) {
  const asked: unknown[] = [];
  const client = bareClient({
    request: async (_method: string, _path: string, body: unknown) => {
      const name = valueAt(body, "spec", "resourceAttributes", "name");
      asked.push(name);
      return { status: { allowed: mayDelete(name) } };
    },
  });
  const lacks = await missingRights(rightsToDelete(secrets), client, signal);
  return { asked, names: lacks.map(({ name }) => name) };
}

test("a right on all names is asked for once", async () => {
  expect(await lacked(() => true)).toEqual({ asked: [undefined], names: [] });
});

test("a role for some names is enough for these, and for no others", async () => {
  const only = await lacked((name) => name === "a");
  expect(only).toEqual({ asked: [undefined, "a", "b"], names: ["b"] });
  expect((await lacked((name) => name !== undefined)).names).toEqual([]);
});
