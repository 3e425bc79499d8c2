import { expect, test } from "vitest";

import type { EndpointCheck } from "../../../access/profiles/check-endpoint.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { sourceOfCluster } from "../../../controller/discovery/cluster-api-source.ts";
import {
  deletableAt,
  desiredProfile,
  goneStatus,
  registeredStatus,
  toldCheck,
} from "../../../controller/discovery/desired-profile.ts";
import { sourcesOfSecret } from "../../../controller/discovery/secret-source.ts";
import type { Source, SourceAccess } from "../../../controller/discovery/source.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { cluster, clusterOf, profileOn, secretOf, settings } from "./source-objects.ts";

const ref = { namespace: "fleet", name: "x" };
const apiVersion = "multicluster.x-k8s.io/v1alpha1";
const answers: EndpointCheck = { kind: "answers", kubernetes: "v1.36.1" };
const quiet: EndpointCheck = { kind: "answers", kubernetes: undefined };
const fails: EndpointCheck = { kind: "fails", reason: "Unreachable", message: "silent" };
const reached: SourceAccess = { kind: "cluster", cluster };
const present = profileOn("fleet/x", { status: { version: { kubernetes: "v1.35.0" } } });

function sourceOf(name: string, contexts = ["main"], annotations = {}): Source {
  const [...sources] = sourcesOfSecret(
    secretOf(name, { contexts, metadata: { annotations } }),
    settings,
    Date.now(),
  );
  const source = sources.at(-1);
  if (source === undefined) throw new Error("The Secret has no source");
  return source;
}

const secret = sourceOf("x");
const probe = (status: string): Source =>
  sourceOfCluster(
    clusterOf("x", {
      spec: { topology: { version: "v1.34.0" } },
      status: { conditions: [{ type: "RemoteConnectionProbe", status, reason: "Why" }] },
    }),
  );

test("a profile says how its cluster is reached, and where its credential is", () => {
  const facts = { access: reached, check: answers };
  const desired = desiredProfile(secret, facts, { ref, apiVersion, present: undefined });
  expect(desired).toMatchObject({
    ...ref,
    manager: "knfleet-kubeconfig",
    displayName: "x",
    annotations: { "knfleet.dev/discovered-from": "v1/Secret/team-a/x/uid-x" },
    kubernetes: "v1.36.1",
    access: {
      name: "kubeconfig-secretreader",
      cluster: {
        ...cluster,
        extensions: [
          {
            name: "client.authentication.k8s.io/exec",
            extension: { namespace: "team-a", name: "x", key: "kubeconfig" },
          },
        ],
      },
    },
  });
});

test("the reader is told which context counts, unless it is the current one", () => {
  const source = sourceOf("x", ["main", "eu"], { "knfleet.dev/contexts": "*" });
  const facts = { access: reached, check: answers };
  const desired = desiredProfile(source, facts, { ref, apiVersion, present: undefined });
  expect(desired.annotations).toMatchObject({ "knfleet.dev/discovered-context": "eu" });
  expect(valueAt(desired.access?.cluster?.extensions?.[0], "extension", "context")).toBe("eu");
});

const refused: SourceAccess = { kind: "refused", why: "names a program" };
const missing: SourceAccess = { kind: "missing", why: "does not exist" };

test.each<{
  readonly name: string;
  readonly source?: Source;
  readonly access?: SourceAccess;
  readonly check?: EndpointCheck;
  readonly health: string;
  readonly version?: string;
}>([
  { name: "answers", check: answers, health: "True Ready", version: "v1.36.1" },
  { name: "hides its version", check: quiet, health: "True Ready" },
  { name: "fails", check: fails, health: "False Unreachable" },
  { name: "has a refused kubeconfig", access: refused, health: "False KubeconfigRefused" },
  { name: "has no kubeconfig", access: missing, health: "False KubeconfigMissing" },
  {
    name: "is well for Cluster API",
    source: probe("True"),
    check: fails,
    health: "True Ready",
    version: "v1.34.0",
  },
  {
    name: "is ill for Cluster API",
    source: probe("False"),
    access: missing,
    health: "False Why",
    version: "v1.34.0",
  },
  {
    name: "is well without a kubeconfig",
    source: probe("True"),
    access: missing,
    health: "False KubeconfigMissing",
    version: "v1.34.0",
  },
])("a cluster that $name has a health and a version", ({ source = secret, check, ...row }) => {
  const { access = reached, health, version = "v1.35.0" } = row;
  const desired = desiredProfile(source, { access, check }, { ref, apiVersion, present });
  const [first] = desired.conditions;
  expect(`${first?.status} ${first?.reason}`).toBe(health);
  expect(desired.kubernetes).toBe(version);
  expect(desired.access === undefined).toBe(access.kind !== "cluster");
});

test("a profile without a source keeps all but its health, and may go five minutes later", () => {
  const access = { name: "kubeconfig-secretreader", cluster };
  const status = {
    accessProviders: [access],
    version: { kubernetes: "v1.36.1" },
    properties: [{ name: "gpu", value: "yes" }],
    conditions: [
      { type: "ControlPlaneHealthy", status: "True", reason: "Ready", message: "" },
      {
        type: "Joined",
        status: "True",
        reason: "Discovered",
        message: "",
        lastTransitionTime: "t",
      },
    ],
  } as const;
  const profile = profileOn("fleet/x", { status });
  expect(deletableAt(profile)).toBeUndefined();
  const now = new Date("2026-11-01T00:00:00Z");
  const gone = goneStatus(profile, now);
  const { conditions: _, ...rest } = status;
  expect(gone["status"]).toMatchObject({
    ...rest,
    conditions: [{ status: "False", reason: "SourceGone" }, status.conditions[1]],
  });
  const marked = profileOn("fleet/x", { status: { ...Object(gone["status"]) } });
  expect(deletableAt(marked)).toBe(now.getTime() + 300_000);
  expect(goneStatus(marked, new Date("2026-11-02T00:00:00Z"))).toEqual(gone);
});

test("a profile that had not been healthy for long gets its five minutes, too", () => {
  const lastTransitionTime = "2026-10-01T00:00:00Z";
  const conditions = [
    { type: "ControlPlaneHealthy", status: "False", reason: "Unreachable", lastTransitionTime },
  ] as const;
  const now = new Date("2026-11-01T00:00:00Z");
  const gone = goneStatus(profileOn("fleet/x", { status: { conditions } }), now);
  const marked = profileOn("fleet/x", { status: { ...Object(gone["status"]) } });
  expect(deletableAt(marked)).toBe(now.getTime() + 300_000);
});

test("of a registered profile only health and version are written", () => {
  const now = new Date("2026-11-01T00:00:00Z");
  const { status } = registeredStatus(present, fails, now);
  expect(status).toEqual({
    version: { kubernetes: "v1.35.0" },
    conditions: [
      {
        type: "ControlPlaneHealthy",
        status: "False",
        reason: "Unreachable",
        message: "silent",
        lastTransitionTime: "2026-11-01T00:00:00Z",
      },
    ],
  });
});

test.each<[string, Condition["status"], string, EndpointCheck | undefined]>([
  ["says that it is healthy", "True", "https://a", { kind: "answers", kubernetes: "v1.36.1" }],
  ["says that it is not", "False", "https://a", undefined],
  ["is about another address", "True", "https://b", undefined],
])("a profile tells of a cluster when it %s", (_what, status, server, expected) => {
  const profile = profileOn("fleet/x", {
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status }],
      accessProviders: [{ name: "x", cluster: { server } }],
      version: { kubernetes: "v1.36.1" },
    },
  });
  expect(toldCheck(profile, { server: "https://a" })).toEqual(expected);
  expect(toldCheck(undefined, { server: "https://a" })).toBeUndefined();
});
