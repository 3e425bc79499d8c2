import { expect, test } from "vitest";

import { component } from "../../fleet-facts.ts";
import { reviews } from "../../reviews.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";

test.each([
  ["-n", "team-a"],
  ["-l", "env=prod"],
  ["--cluster", "eu-*"],
])("a part of the hub cannot be migrated: %s %s", async (...part) => {
  const { exitCode, stderr } = await runText(["migrate", "from-upstream", ...part]);
  expect(stderr).toContain("A migration is about all components of the hub");
  expect(exitCode).toBe(2);
});

test("clusters that cannot be read are counted among all clusters", async () => {
  const components = ["eu-1", "eu-2"].map((cluster) => component({ cluster, name: cluster }));
  const metadata = { name: "kube-system", uid: "hub", resourceVersion: "1" };
  const objects = [...components, { apiVersion: "v1", kind: "Namespace", metadata }];
  await using hub = await startStubHub(
    objects,
    reviews(() => true),
  );
  const { exitCode, stderr } = await runText(["migrate", "from-upstream"], { env: hub.env });
  expect(stderr).toContain("2 of 2 clusters could not be read:");
  expect(exitCode).toBe(3);
});
