import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { versionedKindId } from "../../../api/keys.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { Sweep } from "../../../controller/uninstall/finalize-sweep.ts";
import { unexpected } from "../../support/bare-client.ts";
import { silentLog } from "../../support/silent-log.ts";

const { signal } = new AbortController();
const resource = knownResource("v1", "ConfigMap");
const namespace = "knative-eventing";
const labelSelector = "knfleet.dev/component-uid=component";

function objectOf(name: string): KubeObject {
  const metadata = { name, namespace, uid: `uid-${name}`, resourceVersion: "1" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

/** A cluster with ConfigMaps behind a proxy that refuses field selectors with a status. */
function clusterBehind(status: number, names: readonly string[]) {
  const standing = new Set(names);
  const removed: string[] = [];
  const refusal = { status, reason: "", message: "", causes: [], isStatus: false, request: "" };
  const refuseParts = ({ fieldSelector }: { readonly fieldSelector?: string }): void => {
    if (fieldSelector !== undefined) throw new ApiError(refusal);
  };
  const client: KubeClient = {
    server: "https://spoke.test",
    list: async (ref) => {
      refuseParts(ref);
      return { items: [...standing].map(objectOf), resourceVersion: "1" };
    },
    remove: async ({ name }) => {
      removed.push(name);
      return standing.delete(name) ? "gone" : "absent";
    },
    removeCollection: async (ref) => {
      refuseParts(ref);
      return unexpected();
    },
    get: unexpected,
    watch: unexpected,
    create: unexpected,
    apply: unexpected,
    patch: unexpected,
    replace: unexpected,
    request: unexpected,
  };
  return { client, standing, removed };
}

test.each([414, 431])(
  "a collection whose parts are refused with %i goes object by object, each once",
  async (status) => {
    const names = Array.from({ length: 70 }, (_, at) => `config-${at}`);
    const { client, standing, removed } = clusterBehind(status, names);
    const inventory = names.map((name) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace,
      name,
    }));
    const resources = new Map([[versionedKindId(resource), resource]]);
    const unproven = new Set<string>();
    const scope = { labelSelector, resources, inventory, belonging: undefined, unproven };
    const sweep = new Sweep(client, scope, silentLog);
    await sweep.removeInventory(signal);
    expect([...standing]).toEqual([]);
    expect(removed.toSorted()).toEqual(names.toSorted());
    expect(sweep.removed).toBe(names.length);
  },
);
