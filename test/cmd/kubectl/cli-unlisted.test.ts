import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { managedClusterAnnotation } from "../../../api/delivery.ts";
import { component } from "./fleet-facts.ts";
import { runText } from "./run-text.ts";
import { fleetSet } from "./set-facts.ts";
import { startStubHub } from "./stub-hub.ts";
import { answersTables } from "./stub-tables.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-unlisted-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const pushed = component();
const pulled = {
  ...pushed,
  metadata: { ...pushed.metadata, annotations: { [managedClusterAnnotation]: "spoke-1" } },
};
const profile = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ClusterProfile",
  metadata: { namespace: "fleet", name: "spoke-1", uid: "spoke-1", resourceVersion: "1" },
};
const objects = [pulled, fleetSet(), profile];

/** A hub on which one resource of a group may not be listed. */
async function runWithout(group: string, plural: string, ...args: readonly string[]) {
  const tables = answersTables(objects);
  const place = new RegExp(`^/apis/${group}/[^/]+/(?:namespaces/[^/]+/)?${plural}$`);
  const message = `${plural}.${group} is forbidden: User "me" cannot list resource "${plural}" in API group "${group}" at the cluster scope`;
  const body = { kind: "Status", status: "Failure", reason: "Forbidden", code: 403, message };
  await using hub = await startStubHub(objects, (request) => {
    if (request.path.endsWith("/selfsubjectreviews")) {
      return { body: { status: { userInfo: { username: "me", groups: [] } } } };
    }
    return request.method === "GET" && place.test(request.path)
      ? { status: 403, body }
      : tables(request);
  });
  return await runText(args, { env: hub.env });
}

test.each([
  ["knfleet.dev", "knativeservingsets"],
  ["knfleet.dev", "knativeeventingsets"],
  ["apps", "controllerrevisions"],
  ["operator.knative.dev", "knativeeventings"],
])("check says that it did not look at %s/%s", async (group, plural) => {
  const { stdout } = await runWithout(group, plural, "check");
  expect(stdout).toContain(`not looked at: the right to list ${plural}.${group} is missing`);
});

test.each(["knativeservingsets", "knativeeventingsets"])(
  "gather says that sets are not in the bundle without the right to list %s",
  async (plural) => {
    const path = join(folder, `${plural}.tgz`);
    const args = ["gather", "--no-live", "--tail", "0", "-A", "-o", path];
    const { stderr, exitCode } = await runWithout("knfleet.dev", plural, ...args);
    expect(stderr).toContain("Fleet sets are not in the bundle: you lack the right to list");
    expect(exitCode).toBe(3);
  },
);

test.each([
  ["apps", "deployments", "The controllers of the hub are not known"],
  [
    "work.open-cluster-management.io",
    "manifestworks",
    "The agents of pulled clusters are not known",
  ],
])(
  "version says what it does not know without the right to list %s/%s",
  async (group, plural, said) => {
    const { stderr, exitCode } = await runWithout(group, plural, "version", "-A", "--no-live");
    expect(stderr).toContain(`${said}: you lack the right to list ${plural}.${group}`);
    expect(exitCode).toBe(0);
  },
);

test("can-i says that it takes a ClusterProfile for one without installations", async () => {
  const args = ["can-i", "cp/fleet/spoke-1"];
  const { stderr } = await runWithout("operator.knative.dev", "knativeservings", ...args);
  expect(stderr).toContain("each ClusterProfile is taken for one without installations");
});
