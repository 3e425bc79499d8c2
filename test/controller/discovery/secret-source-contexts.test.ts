import { expect, test } from "vitest";

import { sourcesOfSecret } from "../../../controller/discovery/secret-source.ts";
import { secretOf, settings } from "./source-objects.ts";

test("a Secret may ask for a profile of each context", () => {
  const contexts = ["main", "eu", "arn:aws:eks/EU_1"];
  const one = secretOf("many", { contexts });
  expect(sourcesOfSecret(one, settings, Date.now()).map(({ name }) => name)).toEqual(["many"]);
  const all = secretOf("many", { contexts, metadata: annotated({ "knfleet.dev/contexts": "*" }) });
  expect(
    sourcesOfSecret(all, settings, Date.now()).map(({ name, context }) => [name, context]),
  ).toEqual([
    ["many", undefined],
    ["many-eu", "eu"],
    [expect.stringMatching(/^many-arn-aws-eks-eu-1-[0-9a-f]{8}$/), "arn:aws:eks/EU_1"],
  ]);
});

test("a Secret that asks for one context by its name is refused, because the current one may be another cluster", () => {
  const contexts = ["dev", "prod"];
  const metadata = annotated({ "knfleet.dev/contexts": "prod" });
  const [one, ...more] = sourcesOfSecret(
    secretOf("many", { contexts, metadata }),
    settings,
    Date.now(),
  );
  expect(more).toEqual([]);
  expect(one?.access).toEqual({
    kind: "refused",
    why: 'is not read: the annotation knfleet.dev/contexts is "prod", and only "*" has a meaning',
  });
  const none = secretOf("many", { contexts, metadata: annotated({ "knfleet.dev/contexts": "" }) });
  expect(sourcesOfSecret(none, settings, Date.now())).toMatchObject([
    { access: { kind: "cluster" } },
  ]);
});

function annotated(annotations: Readonly<Record<string, string>>) {
  return { annotations };
}
