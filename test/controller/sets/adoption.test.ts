import { expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { judgeAdoption } from "../../../controller/sets/adoption.ts";
import { contentOf } from "../../../sets/content.ts";
import { DesiredSpecs } from "../../../sets/desired-spec.ts";
import { SetWorld } from "../../sets/set-world.ts";

const { set: example } = new SetWorld({}, []);
const clusterProfileRef = { namespace: "fleet", name: "a" };
const profile = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ClusterProfile",
  metadata: { ...clusterProfileRef, uid: "a", resourceVersion: "1" },
} as const;

interface Row {
  readonly name: string;
  readonly adoption?: "Always" | "IfEqual" | "Never";
  readonly namespace?: string;
  readonly spec?: object;
  /** The version of the set; absent: an exact one. */
  readonly wants?: string;
  /** Name of the set whose label the component has; it belongs to that set. */
  readonly owner?: string;
  /** Why it is left; absent: it is taken. */
  readonly why?: string;
}

test.each<Row>([
  { name: "with the spec that the set wants is taken" },
  {
    name: "with another version is left",
    spec: { version: "1.20.0" },
    why: 'NotOwned: KnativeServing fleet/mine has the cluster, and its spec.version differs: it has "1.20.0", the set wants "1.22.0"',
  },
  {
    name: "with a field more is left",
    spec: { version: "1.22.0", config: { network: {} } },
    why: 'NotOwned: KnativeServing fleet/mine has the cluster, and its spec.config differs: it has "{\\"network\\":{}}", the set wants nothing',
  },
  {
    name: "with the minor version that the set resolves is taken",
    wants: "1.22",
    spec: { version: "1.22" },
  },
  {
    name: "with another minor version than the set resolves is left",
    wants: "1.22",
    spec: { version: "1.21" },
    why: 'NotOwned: KnativeServing fleet/mine has the cluster, and its spec.version differs: it has "1.21", the set wants "1.22.1"',
  },
  { name: "with any spec is taken by Always", adoption: "Always", spec: { version: "1.20.0" } },
  {
    name: "with the same spec is left by Never",
    adoption: "Never",
    why: "NotOwned: KnativeServing fleet/mine has the cluster, and adoption is Never",
  },
  {
    name: "of another namespace is left, also by Always",
    adoption: "Always",
    namespace: "other",
    why: "NotOwned: KnativeServing other/mine has the cluster, in another namespace than the set; a set takes over components of its own",
  },
  {
    name: "of another set is left, also by Always",
    adoption: "Always",
    owner: "rival",
    why: "Duplicate: KnativeServing fleet/mine belongs to the set fleet/rival",
  },
])("a component $name", ({ adoption = "IfEqual", namespace = "fleet", owner, why, ...row }) => {
  const { spec = { version: "1.22.0" }, wants = "1.22.0" } = row;
  const labels: Record<string, string> = owner === undefined ? {} : { "knfleet.dev/set": owner };
  const component: Component = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: { namespace, name: "mine", uid: "1", resourceVersion: "1", labels },
    spec: { ...spec, clusterProfileRef },
  };
  const template = { spec: { version: wants } };
  const set = { ...example, spec: { ...example.spec, template, adoption } };
  const found = { component, isOwned: owner !== undefined };
  const judged = judgeAdoption(set, found, {
    profile,
    specs: new DesiredSpecs(contentOf(set, { available: ["1.22.1", "1.22.0"] })),
  });
  const reason =
    judged.kind === "leave" ? `${judged.obstacle.reason}: ${judged.obstacle.message}` : undefined;
  expect(reason).toBe(why);
});
