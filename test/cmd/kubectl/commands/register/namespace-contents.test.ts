import { expect, test } from "vitest";

import { connectHub } from "../../../../../access/hub/hub.ts";
import { systemClock } from "../../../../../access/time/system-clock.ts";
import {
  readContents,
  whyItStays,
} from "../../../../../cmd/kubectl/commands/register/namespace-contents.ts";
import { startStubHub } from "../../stub-hub.ts";

const kind = (resource: string, name: string, ...verbs: readonly string[]) => ({
  resource,
  responseKind: { kind: name },
  scope: "Namespaced",
  verbs,
});
const listOf = (name: string) => ({
  apiVersion: "v1",
  kind: "List",
  metadata: { resourceVersion: "1" },
  items: [{ metadata: { name, uid: name, resourceVersion: "1" } }],
});

test("a kind whose objects nobody can create, change or delete keeps no namespace", async () => {
  const versions = [
    {
      version: "v1",
      resources: [
        kind("packagemanifests", "PackageManifest", "get", "list"),
        kind("things", "Thing", "get", "list", "delete"),
      ],
    },
  ];
  const at = "/apis/example.com/v1/namespaces/knfleet";
  const answers: Readonly<Record<string, unknown>> = {
    "/api": { items: [{ metadata: {}, versions: [{ version: "v1", resources: [] }] }] },
    "/apis": { items: [{ metadata: { name: "example.com" }, versions }] },
    [`${at}/packagemanifests`]: listOf("view"),
    [`${at}/things`]: listOf("thing"),
  };
  await using stub = await startStubHub([], ({ path }) => {
    const [place = ""] = path.split("?");
    return answers[place] === undefined ? undefined : { body: answers[place] };
  });
  await using hub = await connectHub({
    clock: systemClock,
    environment: stub.env,
    userAgent: "test",
  });
  const target = { client: hub.client, timeoutMs: 10_000, signal: undefined };
  const { objects, unread } = await readContents("knfleet", target);
  expect(objects.map(({ metadata }) => metadata.name)).toEqual(["thing"]);
  expect(unread).toEqual([]);
});

test("a namespace stays when the answer to discovery does not say what the cluster serves", async () => {
  const old: Readonly<Record<string, unknown>> = {
    "/api": { kind: "APIVersions", versions: ["v1"] },
    "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  };
  await using stub = await startStubHub([], ({ path }) =>
    old[path] === undefined ? undefined : { body: old[path] },
  );
  await using hub = await connectHub({
    clock: systemClock,
    environment: stub.env,
    userAgent: "test",
  });
  const target = { client: hub.client, timeoutMs: 10_000, signal: undefined };
  expect(whyItStays("knfleet", await readContents("knfleet", target))).toBe(
    "Namespace knfleet of the cluster stays: could not list /api, /apis",
  );
});
