import { describe, expect, test } from "vitest";

import { objectId } from "../../api/keys.ts";
import { keyOf, type ObjectKey } from "../../api/kubernetes.ts";
import { anchorNameOf, componentUidLabel } from "../../installation/anchor.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { eventsOf } from "./history.ts";
import { condition, create, gone, installed, read, ready, remove } from "./installation.ts";
import { requestsTo } from "./requests.ts";
import { useScene } from "./scene.ts";

const kind = "KnativeEventing";
const namespace = "knative-eventing";
const role: ObjectKey = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  name: "knativeeventing-knative-eventing-knative-eventing-root-owner",
};
const anchor: ObjectKey = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace,
  name: anchorNameOf({ kind, name: namespace }),
};

describe("where the controller may not install policies", () => {
  const scene = useScene({ spokes: 1 });
  const admin = () => scene().fleet.spoke(0).admin;

  /** What the anchor owns: uid by identity. Pods and what other controllers make follow from it. */
  async function owned(): Promise<ReadonlyMap<string, string>> {
    const uid = (await read(scene().hub, kind))?.metadata.uid ?? "";
    const all = await installed(scene().fleet.spoke(0), uid);
    const inside = all.filter(({ metadata }) => metadata.namespace === namespace);
    return new Map(inside.map((object) => [objectId(keyOf(object)), object.metadata.uid]));
  }

  /** Every object has exactly the anchor that is there now, and the second owner. */
  async function healed(): Promise<void> {
    await waitFor(
      "every object to have both owners",
      async () => {
        const [root, twin] = [await admin().get(anchor), await admin().get(role)];
        const wanted = [root?.metadata.uid ?? "", twin?.metadata.uid ?? ""].toSorted();
        if (wanted.includes("")) return false;
        const uid = (await read(scene().hub, kind))?.metadata.uid ?? "";
        const all = await installed(scene().fleet.spoke(0), uid);
        return all
          .filter(({ metadata }) => metadata.namespace === namespace)
          .filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind !== "Deployment")
          .every(({ metadata: { ownerReferences = [] } }) => {
            const owners = ownerReferences.map(({ uid: owner }) => owner).toSorted();
            return JSON.stringify(owners) === JSON.stringify(wanted);
          });
      },
      { timeoutMs: 60_000 },
    );
  }

  test("an install goes on with a second owner, and says why", async () => {
    const { hub, profiles } = scene();
    const roles = { apiVersion: role.apiVersion, kind: "ClusterRole", name: "knfleet-spoke" };
    const spokeRole = await admin().get(roles);
    const rules: unknown = spokeRole?.["rules"];
    if (!Array.isArray(rules)) throw new Error("The role has no rules");
    const allowed = rules.filter((rule) => !JSON.stringify(rule).includes("admissionpolic"));
    expect(allowed.length).toBe(rules.length - 1);
    await admin().patch(roles, { rules: allowed });
    await create(hub, { kind, on: profiles[0] });
    await ready(hub, kind);
    await condition(hub, kind, ["AnchorProtected", { status: "False", reason: "PolicyForbidden" }]);
    const twin = await admin().get(role);
    expect(twin?.["rules"] ?? []).toEqual([]);
    expect(twin?.metadata.labels?.[componentUidLabel]).toBeDefined();
    await healed();
  });

  test.each(["Background", "Foreground"] as const)(
    "an anchor deleted in %s takes nothing along, and is made again",
    async (propagationPolicy) => {
      const before = await owned();
      expect(before.size).toBeGreaterThan(30);
      const old = (await admin().get(anchor))?.metadata.uid;
      const path = `/api/v1/namespaces/${namespace}/configmaps/${anchor.name}`;
      await admin().request("DELETE", path, { propagationPolicy });
      await waitFor("a new anchor", async () => {
        const root = await admin().get(anchor);
        return root !== undefined && root.metadata.uid !== old;
      });
      await healed();
      const after = await owned();
      const lost = [...before].filter(([id, uid]) => after.get(id) !== uid);
      expect(lost.map(([id]) => id)).toEqual([]);
      await ready(scene().hub, kind);
      const uid = (await read(scene().hub, kind))?.metadata.uid ?? "";
      const events = await eventsOf(scene().hub, kind, uid);
      expect(events.filter((event) => event.startsWith("AnchorLost:"))).toHaveLength(1);
    },
  );

  test("a second owner that is deleted is made again", async () => {
    const before = await owned();
    const old = (await admin().get(role))?.metadata.uid;
    await admin().remove(role);
    await waitFor("a new second owner", async () => {
      const twin = await admin().get(role);
      return twin !== undefined && twin.metadata.uid !== old;
    });
    await healed();
    const after = await owned();
    expect([...before].filter(([id, uid]) => after.get(id) !== uid)).toEqual([]);
  });

  test("both owners go with the component", async () => {
    const { hub, fleet } = scene();
    const uid = (await read(hub, kind))?.metadata.uid ?? "";
    await remove(hub, kind);
    await gone(hub, kind);
    expect(await installed(fleet.spoke(0), uid)).toEqual([]);
    expect(await admin().get(role)).toBeUndefined();
    expect(await admin().get(anchor)).toBeUndefined();
    // Nothing that was refused was asked for again and again.
    const refused = (await requestsTo(fleet.spoke(0))).filter(({ code }) => code === 403);
    expect(refused.length).toBeLessThan(20);
  });
});
