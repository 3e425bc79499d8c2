import { describe, expect, test } from "vitest";

import { resolveAccess } from "../../../../../access/spokes/resolved-access.ts";
import { listsProfiles } from "../../../../../cmd/kubectl/commands/register/known-cluster.ts";
import {
  objectComment,
  shownObjects,
} from "../../../../../cmd/kubectl/commands/register/registration-text.ts";
import {
  credentialData,
  planRegistration,
} from "../../../../../cmd/kubectl/commands/register/registration.ts";
import { spokeManifests } from "../../../../../cmd/kubectl/rights/spoke-objects.ts";
import {
  type Changes,
  clock,
  execConfig,
  hub,
  kubeconfigs,
  named,
  own,
  planned,
  present,
  profileOf,
  readers,
  request,
  roleWithout,
  spoke,
  tokens,
} from "./registration-input.ts";

const otherProfile = {
  ...profileOf(planned()),
  metadata: { namespace: "fleet", name: "by-hand", uid: "by-hand", resourceVersion: "1" },
};

describe("a registration", () => {
  test("makes identity and token on the spoke, and Secret and profile on the hub", () =>
    expect(named()).toEqual([
      "spoke namespace/knfleet",
      "spoke serviceaccount/knfleet-hub",
      "spoke clusterrole.rbac.authorization.k8s.io/knfleet-spoke",
      "spoke clusterrolebinding.rbac.authorization.k8s.io/knfleet-hub",
      "spoke secret/knfleet-hub-token-abc",
      "hub namespace/fleet",
      "hub secret/eu-1",
      "hub clusterprofile.multicluster.x-k8s.io/eu-1",
    ]));

  test("with a time to live makes no Secret for the token", () =>
    expect(named({ request: { ttlSeconds: 3_600 } })).not.toContain(
      "spoke secret/knfleet-hub-token-abc",
    ));

  test("leaves namespace and role to whoever made them, and writes what it made itself again", () => {
    const [namespace, role] = [present("Namespace"), roleWithout(0)];
    expect(planned({ spoke: { namespace, role } }).spoke.map(({ kind }) => kind)).toEqual([
      "ServiceAccount",
      "ClusterRoleBinding",
    ]);
    const ours = present("ClusterRole", { labels: own });
    const again = planned({ spoke: { role: ours } }).spoke.find(
      ({ kind }) => kind === "ClusterRole",
    );
    expect(again?.metadata.labels).toMatchObject(own);
  });

  test("writes nothing of somebody else's, whatever is there", () => {
    const registrant = { ...request, hubUid: "hub-uid" };
    const kinds = ["namespace", "account", "role", "binding"] as const;
    const none = { namespace: undefined, account: undefined, role: undefined, binding: undefined };
    for (const kind of kinds) {
      const written = spokeManifests(registrant, { ...none, [kind]: present(kind) });
      expect(written).toHaveLength(kinds.length - 1);
    }
  });

  test("gives the binding no label of the chart, by which a hub is recognized", () => {
    const binding = planned().spoke.find(({ kind }) => kind === "ClusterRoleBinding");
    expect(binding?.metadata.labels).toEqual(own);
  });

  test.each([
    { providers: [tokens, kubeconfigs], provider: "tokens", key: "token" },
    { providers: [kubeconfigs, tokens], provider: "kubeconfigs", key: "value" },
    {
      providers: [{ ...tokens, allowedNamespaces: ["a"] }, kubeconfigs],
      provider: "kubeconfigs",
      key: "value",
    },
    {
      providers: [
        { ...tokens, name: "cloud", execConfig: { ...execConfig, command: "/p/aws" } },
        tokens,
      ],
      provider: "tokens",
      key: "token",
    },
  ])(
    "takes the first reader of the file that it may use: $provider",
    ({ providers, provider, key }) => {
      const file = readers(...providers);
      const registration = planned({ hub: { readers: file } });
      expect(registration.reader.provider).toBe(provider);
      expect(registration.reader.secret.key).toBe(key);
      const access = resolveAccess(profileOf(registration), file.file, Date.now());
      expect(access).toMatchObject({ provider, endpoint: { server: "https://eu-1.example.com" } });
    },
  );

  test("keeps the labels that it gave before, changed by those of now", () => {
    const managedFields = [
      {
        manager: "knfleet-register",
        fieldsV1: { "f:metadata": { "f:labels": { "f:tier": {}, "f:region": {} } } },
      },
    ];
    const labels = { tier: "prod", region: "us", mine: "1" };
    const profile = {
      ...profileOf(planned()),
      metadata: { ...profileOf(planned()).metadata, labels, managedFields },
    };
    const change = {
      hub: { profile },
      request: { labels: { zone: "a" }, removedLabels: ["tier"] },
    };
    expect(planned(change).profile.metadata.labels).toEqual({
      region: "us",
      zone: "a",
      "x-k8s.io/cluster-manager": "knfleet-register",
    });
  });

  test("keeps the time of a condition that does not change", () => {
    const profile = profileOf(planned());
    const later = { ...clock, now: new Date("2026-12-01T00:00:00Z") };
    const again = planRegistration(request, { hub: { ...hub, profile }, spoke }, later);
    expect("profileStatus" in again && again.profileStatus).toEqual(planned().profileStatus);
  });

  test.each([
    [{ hub: { hasController: false } }, /No controller/],
    [{ hub: { uid: "spoke-uid" } }, /hub itself/],
    [{ hub: { unlisted: [listsProfiles] } }, /could not be read.* list clusterprofiles/],
    [{ spoke: { anchors: undefined } }, /could not be read.* list configmaps on the cluster/],
    [
      { hub: { profiles: [otherProfile] } },
      /^The cluster is known as ClusterProfile fleet\/by-hand already/,
    ],
    [
      { request: { server: "https://10.0.0.5" }, hub: { profile: profileOf(planned()) } },
      /changes from/,
    ],
  ])("warns: %j", (changes: Changes, warning) =>
    expect(planned(changes).warnings.join("\n")).toMatch(warning),
  );

  test("has the token in the Secret of the hub and in nothing that is shown", () => {
    for (const file of [readers(tokens), readers(kubeconfigs)]) {
      const registration = planned({ hub: { readers: file } });
      const { data } = credentialData(registration, "https://eu-1.example.com", "the-token");
      const [text = ""] = Object.values(data ?? {}).map(String);
      expect(Buffer.from(text, "base64").toString()).toContain("the-token");
      const shown = shownObjects(registration, request);
      expect(JSON.stringify([shown, shown.map(objectComment)])).not.toContain(text);
    }
  });
});
