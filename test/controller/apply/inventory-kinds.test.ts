import { describe, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import { InventoryKinds } from "../../../controller/apply/inventory-kinds.ts";
import { watchedKinds } from "../../../controller/apply/observe-objects.ts";
import { bodyOf, type Desired, prepare } from "../../../installation/desired.ts";
import { definitionOf, manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";

const signal = AbortSignal.timeout(60_000);

/** The discovery of a cluster that serves two foreign kinds in one group version. */
class Discovery {
  readonly asked: string[] = [];
  status = 200;

  request = (_method: string, path: string): Promise<unknown> => {
    this.asked.push(path);
    if (this.status === 200 && path === "/apis/foreign.dev/v1") {
      return Promise.resolve({
        resources: [
          { name: "oxen", kind: "Ox", namespaced: false, verbs: ["get"] },
          { name: "oxen/status", kind: "Ox", namespaced: false, verbs: ["get"] },
          { name: "child-ren", kind: "Child", namespaced: true, verbs: ["get"] },
        ],
      });
    }
    const status = this.status === 200 ? 404 : this.status;
    const facts = { reason: "", message: "", causes: [], isStatus: false, request: `GET ${path}` };
    return Promise.reject(new ApiError({ ...facts, status }));
  };
}

const ox = manifestOf("foreign.dev/v1 Ox knative/one", { spec: {} });
const child = manifestOf("foreign.dev/v1 Child knative/one", { spec: {} });
const config = manifestOf("v1 ConfigMap knative/a");

function rowsOf({ objects }: Desired) {
  return objects.map(({ key, resource }) => [key.namespace, key.name, resource.plural]);
}

describe("an object of a kind whose definition is not in the set", () => {
  test("is where the cluster serves it, without namespace and owner where the kind has none", async () => {
    const discovery = new Discovery();
    const kinds = new InventoryKinds();
    const desired = await kinds.locate(prepare(renderedOf(ox, child, config)), discovery, signal);
    expect(rowsOf(desired)).toEqual([
      [undefined, "one", "oxen"],
      ["knative", "one", "child-ren"],
      ["knative", "a", "configmaps"],
    ]);
    expect(discovery.asked).toEqual(["/apis/foreign.dev/v1"]);
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "root", uid: "root-uid" };
    const installation = { owner, namespace: "knative", componentUid: "uid" };
    const bodies = desired.objects.map((object) => bodyOf(object, installation).metadata);
    expect(bodies.map(({ namespace, ownerReferences = [] }) => [namespace, ownerReferences.length]))
      // The anchor has a namespace, so that it can own nothing outside of it.
      .toEqual([
        [undefined, 0],
        ["knative", 1],
        ["knative", 1],
      ]);
    const inventory = { version: "1.0.0", complete: false, entries: [] };
    expect(watchedKinds(desired, inventory, kinds).map(({ plural }) => plural)).toEqual([
      "oxen",
      "child-ren",
      "configmaps",
    ]);
  });

  test("is asked for once, and again when it is not served there any more", async () => {
    const discovery = new Discovery();
    const kinds = new InventoryKinds();
    const set = prepare(renderedOf(ox));
    const first = await kinds.locate(set, discovery, signal);
    expect(await kinds.locate(set, discovery, signal)).toBe(first);
    expect(discovery.asked).toHaveLength(1);
    kinds.forget({ apiVersion: "foreign.dev/v1", kind: "Ox" });
    expect(rowsOf(await kinds.locate(set, discovery, signal))).toEqual(rowsOf(first));
    expect(discovery.asked).toHaveLength(2);
  });

  test.each([
    { answer: "says nothing", status: 503 },
    { answer: "does not know it", status: 404 },
  ])("stays where it is guessed to be while the cluster $answer", async ({ status }) => {
    const discovery = Object.assign(new Discovery(), { status });
    const kinds = new InventoryKinds();
    const set = prepare(renderedOf(ox, config));
    expect(await kinds.locate(set, discovery, signal)).toBe(set);
    discovery.status = 200;
    expect(rowsOf(await kinds.locate(set, discovery, signal))[0]).toEqual([
      undefined,
      "one",
      "oxen",
    ]);
  });
});

test("nothing is asked where all kinds are Kubernetes' own, a release's, or defined in the set", async () => {
  const discovery = new Discovery();
  const set = prepare(
    renderedOf(
      config,
      definitionOf("Thing"),
      manifestOf("test.dev/v1 Thing knative/one"),
      manifestOf("cert-manager.io/v1 Certificate knative/one"),
    ),
  );
  expect(await new InventoryKinds().locate(set, discovery, signal)).toBe(set);
  expect(discovery.asked).toEqual([]);
});
