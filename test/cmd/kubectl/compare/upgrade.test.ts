import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../../api/kubernetes.ts";
import {
  hopsTo,
  refusalsOf,
  storedVersionsOf,
  upgradeRights,
  type UpgradeFacts,
} from "../../../../cmd/kubectl/compare/upgrade.ts";

const kind = "KnativeServing";
const available = ["1.24.0", "1.23.1", "1.23.0", "1.22.2", "1.21.0"];

describe("the versions on the way", () => {
  test.each<[installed: string | undefined, target: string, hops: readonly string[] | null]>([
    [undefined, "1.24.0", ["1.24.0"]],
    ["1.24.0", "1.24.0", []],
    ["1.23.0", "1.24.0", ["1.24.0"]],
    ["1.23.0", "1.23.1", ["1.23.1"]],
    ["1.22.0", "1.24.0", ["1.23.1", "1.24.0"]],
    ["1.21.0", "1.24.0", ["1.22.2", "1.23.1", "1.24.0"]],
    ["1.20.5", "1.22.2", ["1.21.0", "1.22.2"]],
    ["1.24.0", "1.21.0", ["1.23.0", "1.22.2", "1.21.0"]],
    ["1.19.0", "1.22.2", null],
    ["1.24.0", "2.0.0", null],
    ["1.24.0", "nonsense", null],
    ["0.26.0", "1.0.0", ["1.0.0"]],
  ])("from %s to %s are %j", (installed, target, hops) => {
    expect(hopsTo({ kind, installed }, target, available)).toEqual(hops);
  });

  test("never come twice, whatever is at hand", () => {
    expect(hopsTo({ kind, installed: "1.21.0" }, "1.24.0", ["latest", "1.21.0"])).toBeNull();
  });
});

function definition(name: string, versions: Readonly<Record<string, boolean>>): Manifest {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      versions: Object.entries(versions).map(([version, storage]) => ({ name: version, storage })),
    },
  };
}

const live = (...storedVersions: readonly string[]) =>
  new Map([["routes.example.com", { status: { storedVersions } }]]);

describe("stored versions", () => {
  const wanted = [definition("routes.example.com", { v1: true, v1beta1: false })];

  test.each([
    ["the one that the release stores", ["v1"], []],
    [
      "another one of the release, whose objects wait for a migration",
      ["v1beta1", "v1"],
      [{ stored: ["v1beta1", "v1"], storage: "v1", dropped: [] }],
    ],
    [
      "one that the release does not have",
      ["v1alpha1", "v1"],
      [{ stored: ["v1alpha1", "v1"], storage: "v1", dropped: ["v1alpha1"] }],
    ],
    ["none yet", [], []],
  ])("%s", (_, stored, found) => {
    expect(storedVersionsOf(wanted, live(...stored))).toEqual(
      found.map((one) => ({ name: "routes.example.com", ...one })),
    );
  });

  test("are not told of a CRD that is not there, and foreign nonsense is none", () => {
    expect(storedVersionsOf(wanted, new Map())).toEqual([]);
    const odd = new Map([["routes.example.com", { status: { storedVersions: [1, null] } }]]);
    expect(storedVersionsOf(wanted, odd)).toEqual([]);
  });
});

const fine: UpgradeFacts = {
  kind,
  installed: "1.23.1",
  target: "1.24.0",
  isAtHand: true,
  available: ["1.23.0", "1.22.1"],
  environment: {},
  hops: ["1.24.0"],
  kubernetes: { cluster: "v1.36.3", minimum: "v1.34.0" },
  rights: { user: "hub", needed: 9, missing: [] },
  storedVersions: [],
  set: null,
};
const nothing = { rights: null, storedVersions: null, set: null };
const missing = (purpose: "install" | "explain") => ({
  user: "hub",
  needed: 9,
  missing: [{ group: "apps", resource: "deployments", verbs: ["create", "patch"], purpose }],
});

describe("what stands in the way", () => {
  test.each<[what: string, facts: Partial<UpgradeFacts>, refusals: readonly string[]]>([
    ["nothing", {}, []],
    [
      "nothing that a cluster which cannot be read would tell",
      { ...nothing, kubernetes: { ...fine.kubernetes, cluster: null } },
      [],
    ],
    [
      "several minors, and the way over them",
      { installed: "1.22.0", hops: ["1.23.1", "1.24.0"] },
      [
        "KNF1015 not supported to upgrade or downgrade across multiple MINOR versions. The installed KnativeServing version is v1.22.0. The way is 1.23.1, then 1.24.0",
      ],
    ],
    [
      "several minors without a way",
      { installed: "1.19.0", hops: null },
      [
        "KNF1015 not supported to upgrade or downgrade across multiple MINOR versions. The installed KnativeServing version is v1.19.0. The releases at hand know no way",
      ],
    ],
    [
      "several minors, where nobody looked for releases",
      { installed: "1.19.0", hops: null, available: undefined },
      [
        "KNF1015 not supported to upgrade or downgrade across multiple MINOR versions. The installed KnativeServing version is v1.19.0",
      ],
    ],
    [
      "a release that is not at hand",
      { isAtHand: false, hops: null },
      [
        "KNF1016 the manifests of the target version 1.24.0 are not available to this release; it has 1.23.0, 1.22.1",
      ],
    ],
    [
      "Kubernetes",
      { kubernetes: { cluster: "v1.33.9", minimum: "v1.34.0" } },
      ["KNF6001 The cluster runs Kubernetes v1.33.9, at least v1.34.0 is needed"],
    ],
    [
      "rights to install",
      { rights: missing("install") },
      ["KNF5002 hub may not create,patch deployments.apps"],
    ],
    ["rights to explain, which do not", { rights: missing("explain") }, []],
    [
      "stored versions",
      {
        storedVersions: [
          { name: "a.example.com", stored: ["v1alpha1"], storage: "v1", dropped: ["v1alpha1"] },
          { name: "b.example.com", stored: ["v1beta1"], storage: "v1", dropped: [] },
        ],
      },
      [
        "KNF1018 CustomResourceDefinition a.example.com has objects stored as v1alpha1, which the release does not have",
      ],
    ],
  ])("%s", (_, facts, refusals) => {
    const found = refusalsOf({ ...fine, ...facts });
    expect(found.map(({ code, message }) => `${code ?? ""} ${message}`)).toEqual(refusals);
  });

  test("comes in the order version, Kubernetes, rights", () => {
    const all = refusalsOf({
      ...fine,
      installed: "1.20.0",
      kubernetes: { cluster: "v1.20.0", minimum: "v1.34.0" },
      rights: missing("install"),
    });
    expect(all.map(({ reason }) => reason)).toEqual([
      "VersionNotEligible",
      "KubernetesVersionTooOld",
      "Forbidden",
    ]);
  });
});

test("rights are counted by verb, and only missing ones are kept", () => {
  const purpose = "install";
  const right = { group: "apps", resource: "deployments", purpose } as const;
  expect(
    upgradeRights("hub", [
      { ...right, allowed: ["get", "list"], missing: ["patch"] },
      { ...right, resource: "statefulsets", allowed: ["get"], missing: [] },
    ]),
  ).toEqual({ user: "hub", needed: 4, missing: [{ ...right, verbs: ["patch"] }] });
});
