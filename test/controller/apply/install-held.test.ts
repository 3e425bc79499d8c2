import { expect, test } from "vitest";

import { component, json } from "./bare-spoke.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";
import { entryOf, liveOf, type Own, standingInstaller } from "./standing-spoke.ts";

const { namespace } = component.metadata;
const own: Own = { fieldsV1: { "f:data": { "f:release": {} } }, time: "2026-01-01T00:00:00Z" };
const foreign: Own = { ...own, fieldsV1: { "f:data": { "f:other": {} } } };
const later: Own = { ...own, time: "2026-01-02T00:00:00Z" };

const accountOf = (name: string, release: string) =>
  manifestOf(`v1 ServiceAccount ${namespace}/${name}`, { data: { release } });

/** An installer whose set has not stamped the new release, on a cluster where somebody changed both accounts. */
async function heldInstaller() {
  const installed = [accountOf("same", "old"), accountOf("newer", "old")];
  return await standingInstaller({
    entries: installed.map((one) => entryOf(one, own)),
    objects: { serviceaccounts: installed.map((one) => liveOf(one, foreign)) },
    answer: ({ method, path }) => {
      const found = installed.find((one) => path.includes(`/serviceaccounts/${one.metadata.name}`));
      if (found === undefined) return undefined;
      return json(liveOf(found, method === "GET" ? foreign : later));
    },
  });
}

test("a repair says which objects got content that their set has not stamped", async () => {
  const { attempt } = await heldInstaller();
  const rendered = renderedOf(accountOf("same", "old"), accountOf("newer", "new"));
  const changes = await attempt({ rendered, isHeld: true });
  expect(changes.repaired.map(({ name }) => name).toSorted()).toEqual(["newer", "same"]);
  expect(changes.renewed).toMatchObject([{ name: "newer" }]);
});
