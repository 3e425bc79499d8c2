import { describe, expect, test } from "vitest";

import type { ObjectMeta } from "../../../../../api/kubernetes.ts";
import {
  account,
  own,
  plan,
  planned,
  present,
  profileOf,
  readers,
  roleWithout,
  tokens,
} from "./registration-input.ts";

const secretOf = (
  annotations: ObjectMeta["annotations"] = {},
  labels: ObjectMeta["labels"] = own,
) => new Map([["fleet-credentials/eu-1", present("Secret", { annotations, labels })]]);
describe("refused, each with a next step", () => {
  const foreign = { ...profileOf(planned()), spec: { clusterManager: { name: "by-hand" } } };

  test.each([
    { name: "a hub without knfleet", hub: { servesComponents: false }, why: /not installed/ },
    {
      name: "a hub without ClusterProfiles",
      hub: { profileVersion: undefined },
      why: /no ClusterProfiles/,
    },
    {
      name: "a hub without provider file",
      hub: { readers: "there is none" },
      why: /no usable provider file: there is none/,
    },
    {
      name: "a provider file without a reader",
      hub: { readers: readers() },
      why: /No provider of ConfigMap/,
    },
    {
      name: "a namespace that the provider does not allow",
      request: { profile: { namespace: "edge", name: "eu-1" } },
      why: /tokens: allowedNamespaces does not hold "edge"/,
    },
    {
      name: "a server that the provider does not allow",
      hub: { readers: readers({ ...tokens, allowedServers: ["*.example.org"] }) },
      why: /allowedServers/,
    },
    {
      name: "a cluster without an authority",
      spoke: { cluster: { server: "https://eu-1.example.com" } },
      why: /certificate-authority-data is missing/,
    },
    { name: "a profile of another manager", hub: { profile: foreign }, why: /"by-hand"/ },
    {
      name: "a Secret of somebody else",
      hub: { secrets: secretOf({}, {}) },
      why: /not made by register/,
    },
    {
      name: "a Secret of another profile",
      hub: { secrets: secretOf({ "knfleet.dev/cluster-profile": "edge/eu-1" }) },
      why: /is for ClusterProfile edge\/eu-1/,
    },
    {
      name: "a controller that trusts other managers",
      hub: { trusted: { managers: ["ocm"], namespaces: ["fleet"] } },
      why: /not trust .* knfleet-register/,
    },
    {
      name: "a controller that trusts other namespaces",
      hub: { trusted: { managers: ["knfleet-register"], namespaces: ["edge"] } },
      why: /not trust .* namespace fleet/,
    },
    {
      name: "no right to mint",
      spoke: { missingRights: ["create secrets"] },
      why: /the cluster: create secrets/,
    },
    {
      name: "no right on the hub",
      hub: { missingRights: ["patch secrets"] },
      why: /the hub: patch secrets/,
    },
    {
      name: "an account of another registration",
      spoke: {
        account: account({
          "knfleet.dev/cluster-profile": "fleet/eu-1",
          "knfleet.dev/hub-uid": "other",
        }),
      },
      why: /in use by ClusterProfile fleet\/eu-1 of another hub/,
    },
    {
      name: "an account whose hub cannot be told",
      spoke: {
        account: account({
          "knfleet.dev/cluster-profile": "fleet/eu-1",
          "knfleet.dev/hub-uid": "",
        }),
      },
      why: /in use by ClusterProfile fleet\/eu-1 of another hub/,
    },
    {
      name: "an account that is being deleted",
      spoke: {
        account: present("ServiceAccount", {
          labels: own,
          deletionTimestamp: "2026-11-01T00:00:00Z",
        }),
      },
      why: /^Being deleted on the cluster: ServiceAccount knfleet\/knfleet-hub$/,
    },
    {
      name: "a namespace of the hub that is being deleted",
      hub: {
        namespaces: [present("Namespace", { deletionTimestamp: "2026-11-01T00:00:00Z" })],
      },
      why: /^Being deleted on the hub: Namespace x$/,
    },
    {
      name: "an account that somebody made by hand",
      spoke: { account: present("ServiceAccount") },
      why: /^ServiceAccount knfleet\/knfleet-hub of the cluster was not made by register$/,
    },
    {
      name: "a binding that somebody made by hand",
      spoke: { binding: present("ClusterRoleBinding") },
      why: /^ClusterRoleBinding knfleet-hub of the cluster was not made by register$/,
    },
    {
      name: "an account by hand on a cluster of another profile",
      spoke: { account: present("ServiceAccount") },
      hub: { profiles: [{ ...foreign, metadata: { ...foreign.metadata, name: "by-hand" } }] },
      why: /not made by register; the cluster is known as ClusterProfile fleet\/by-hand$/,
    },
    {
      name: "a role by hand that lacks rights",
      spoke: { role: roleWithout(1) },
      why: /^ClusterRole knfleet-spoke .* lacks rights: get and list and watch and create and patch namespaces$/,
    },
    { name: "an API server that does not work", spoke: { isReady: false }, why: /\/readyz/ },
    { name: "a loopback address", spoke: { addresses: ["127.0.0.1"] }, why: /cannot reach/ },
  ])("$name", ({ why, request: asked = {}, hub: there = {}, spoke: here = {} }) => {
    const found = plan({ request: asked, hub: there, spoke: here });
    expect("reader" in found).toBe(false);
    const refusals = "reader" in found ? [] : found;
    expect(refusals.map((refusal) => refusal.error)).toEqual([expect.stringMatching(why)]);
  });

  test.each([
    [{ hub: { servesComponents: false } }, true],
    [{ hub: { readers: "there is none" } }, true],
    [{ hub: { readers: readers() } }, true],
    [{ hub: { profile: foreign } }, undefined],
  ])("%j prints values for the chart: %s", (changes, lacksValues) => {
    const found = plan(changes);
    expect("reader" in found || found.map((refusal) => refusal.lacksValues)).toEqual([lacksValues]);
  });

  test.each([
    ["knfleet-hub", "knfleet-hub-2"],
    ["knfleet-hub-2", "knfleet-hub-3"],
  ])("the next account after %s is %s", (name, next) => {
    const found = plan({
      request: { account: name },
      spoke: { account: present("ServiceAccount") },
    });
    expect("reader" in found || found.flatMap((refusal) => refusal.next)).toEqual([
      `Take another account with --account, such as --account ${next}.`,
    ]);
  });

  test("a role by hand that lacks rights is for its owner to change", () => {
    const found = plan({ spoke: { role: roleWithout(1) } });
    expect("reader" in found || found.flatMap((refusal) => refusal.next)).toEqual([
      'Whoever made it has to apply docs/spoke-role.yaml to the cluster of context "eu-1".',
    ]);
  });

  test("all reasons are told at once", () => {
    const found = plan({ hub: { profile: foreign }, spoke: { addresses: ["127.0.0.1"] } });
    expect(found).toHaveLength(2);
  });

  test("its own account, Secret and profile are no reason", () => {
    const annotations = { "knfleet.dev/cluster-profile": "fleet/eu-1" };
    const again = plan({
      hub: { profile: profileOf(planned()), secrets: secretOf(annotations) },
      spoke: { account: account({ ...annotations, "knfleet.dev/hub-uid": "hub-uid" }) },
    });
    expect("reader" in again).toBe(true);
  });
});
