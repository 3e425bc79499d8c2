import { afterEach, describe, expect, test } from "vitest";

import { keyOf } from "../../api/kubernetes.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { startControllerProcess } from "../support/controller-process.ts";
import { useStory } from "../support/use-story.ts";
import { useClearScene } from "./clear-scene.ts";
import { eventsOf, historyOf } from "./history.ts";
import {
  change,
  condition,
  conditionNames,
  create,
  gone,
  observed,
  read,
  ready,
  remove,
} from "./installation.ts";
import { requestsTo, writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: [{ admissionWebhooks: true }] }, { flags: ["--log-level=debug"] });
useClearScene(scene);
const kind = "KnativeEventing";
const label = "knative-eventing";

/** Keeps ServiceAccounts from being written: it calls a Service that does not exist. */
const blocker = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "blocker" },
  webhooks: [
    {
      name: "blocker.example.test",
      clientConfig: { service: { namespace: "default", name: "nobody", path: "/" } },
      rules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["serviceaccounts"] },
      ],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": label } },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      failurePolicy: "Fail",
      timeoutSeconds: 1,
    },
  ],
};

async function statusWrites(since: Date): Promise<number> {
  const requests = await requestsTo(scene().hub, since);
  return requests.filter(({ subresource, code }) => subresource === "status" && code < 300).length;
}

/** How many reconciles have ended. */
async function looks(): Promise<number> {
  const text = await scene().controller.metrics();
  const counts = text.matchAll(/^controller_runtime_reconcile_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** The log has followed a component of one generation from its creation to its spoke. */
function expectFollowed(uid: string): void {
  const lines = scene().controller.logLines({ component: `${kind} ${label}/${label}`, uid });
  const ours = lines.filter(({ level }) => level !== "debug");
  expect(ours.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(["Applied manifests", "Reconciled"]),
  );
  for (const { generation, attempt, spoke } of ours) {
    expect({ generation, spoke }).toEqual({
      generation: 1,
      spoke: expect.stringMatching(/^\S+\/\S+$/),
    });
    expect(attempt).toBeGreaterThan(0);
  }
}

const unblock = () =>
  scene()
    .fleet.spoke(0)
    .admin.remove({ ...blocker, name: "blocker" });

afterEach(async () => {
  scene().fleet.spoke(0).proxy.setRtt(0);
  // A webhook that stayed would hold up the tests that follow.
  await unblock();
});

describe("a component on a spoke that is 200 ms away", () => {
  useStory();

  test("says from the first moment that the work goes on, writes its status a few times, and its Events tell each step once", async () => {
    const { hub, fleet, profiles } = scene();
    fleet.spoke(0).proxy.setRtt(200);
    const since = new Date();
    const spec = { version: "1.22" };
    const created = await create(hub, { kind, on: profiles[0], spec });
    const { metadata } = created;
    await using history = await historyOf(hub, created);
    await ready(hub, kind);

    const first = history.versions.find((version) => valueAt(version, "status") !== undefined);
    const conditions = valueAt(first, "status", "conditions");
    // kstatus reads work in progress.
    const types = [...conditionNames, "Reconciling"].toSorted();
    expect(conditions).toEqual(
      types.map((type) =>
        expect.objectContaining({
          type,
          status: type === "Reconciling" ? "True" : "Unknown",
          reason: expect.stringMatching(/^\w+$/),
          message: expect.stringMatching(/./),
        }),
      ),
    );
    expect(history.said("Ready")[0]).toMatch(/^Unknown Connecting: Connecting to ClusterProfile /);
    // First conditions, that the cluster answers, how far it is where it takes more than five seconds, the result, the guard.
    expect(await statusWrites(since)).toBeLessThanOrEqual(6);
    // An Event follows the status that it tells of.
    await expect
      .poll(() => eventsOf(hub, kind, metadata.uid))
      .toContainEqual(expect.stringMatching(/^Installed: Installed version 1\.22\.\d+ ×1$/));
    expectFollowed(metadata.uid);
  });

  test("tells the progress of a new version", async () => {
    const { hub, fleet } = scene();
    fleet.spoke(0).proxy.setRtt(200);
    const changed = await change(hub, kind, { version: "1.23" });
    const { metadata } = changed;
    await using history = await historyOf(hub, changed);
    await waitFor("version 1.23", async () => {
      return valueAt(await read(hub, kind), "status", "version") === "1.23.1";
    });
    await ready(hub, kind);
    expect(history.said("Ready").join("\n")).toMatch(
      /Unknown Installing: \d+ of \d+ objects applied/,
    );
    await expect
      .poll(() => eventsOf(hub, kind, metadata.uid))
      .toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^Installing: Began to change version 1\.22\.\d+ to 1\.23\.1 ×1$/),
          expect.stringMatching(/^Installed: Changed version 1\.22\.\d+ to 1\.23\.1 ×1$/),
        ]),
      );
    // Its Deployments roll out, which is nothing to warn of.
    const events = await eventsOf(hub, kind, metadata.uid);
    expect(events.filter((event) => event.startsWith("NotReady:"))).toEqual([]);
  });

  test("says nothing again when the controller starts anew, and names what it puts right then in an Event", async () => {
    const { hub, fleet } = scene();
    const uid = (await read(hub, kind))?.metadata.uid ?? "";
    await scene().controller[Symbol.asyncDispose]();
    const before = await eventsOf(hub, kind, uid);
    const since = new Date();
    scene().controller = await scene().startController();
    const looked = { level: "debug", msg: "Reconciled, nothing new", uid, ready: "True" };
    await scene().controller.logged(looked);
    expect(await statusWrites(since)).toBe(0);

    const name = "config-features";
    const key = { apiVersion: "v1", kind: "ConfigMap", namespace: label, name };
    await fleet.spoke(0).admin.remove(key);
    const repaired = `Repaired: Put right what was deleted or changed: ConfigMap ${label}/${name} ×1`;
    await waitFor("the Event", async () => (await eventsOf(hub, kind, uid)).includes(repaired));
    // Events of a component are written one after the other: what the start had to say would be there before this one.
    expect((await eventsOf(hub, kind, uid)).toSorted()).toEqual([...before, repaired].toSorted());
    expect(await scene().controller.metrics()).toContain(
      'knfleet_drift_repairs_total{kind="ConfigMap"} 1\n',
    );
  });

  test("tells how many objects of a removal are left", async () => {
    const { hub, fleet } = scene();
    const component = await observed(hub, kind);
    fleet.spoke(0).proxy.setRtt(200);
    await using history = await historyOf(hub, component);
    await remove(hub, kind);
    await gone(hub, kind);
    expect(history.said("Ready").join("\n")).toMatch(
      /^Unknown Finalizing: Removing from ClusterProfile /m,
    );
    await expect
      .poll(() => eventsOf(hub, kind, component.metadata.uid))
      .toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^Finalizing: Removing from ClusterProfile \S+ ×1$/),
          expect.stringMatching(
            /^Removed: Removed everything of this component from ClusterProfile \S+ ×1$/,
          ),
        ]),
      );
  });
});

test("an installation that a webhook holds up says how many objects wait for it", async () => {
  const { hub, fleet, profiles } = scene();
  const { admin } = fleet.spoke(0);
  await admin.create(blocker);
  const probe = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "probe", namespace: label },
  };
  // A webhook is called a moment after it was stored.
  await waitFor("the webhook to be called", async () => {
    try {
      await admin.apply(probe);
      return false;
    } catch {
      return true;
    }
  });
  await create(hub, { kind, on: profiles[0] });
  // With an object's name: not on the way, but at the end of an attempt.
  const message =
    /^\d+ of 1\d\d objects applied, \d+ waiting for webhook blocker\.example\.test of ValidatingWebhookConfiguration blocker: ServiceAccount /;
  const held = await condition(hub, kind, ["InstallSucceeded", { status: "Unknown", message }]);
  expect(conditionOf(held, "InstallSucceeded")?.reason).toBe("Installing");
  const before = await looks();
  await using history = await historyOf(hub, held);
  await hub.admin.patch(keyOf(held), { metadata: { annotations: { look: "again" } } });
  await waitFor("another look", async () => (await looks()) > before);
  expect(history.said("InstallSucceeded")).toHaveLength(1);
  await unblock();
  await ready(hub, kind);
  await remove(hub, kind);
  await gone(hub, kind);
});

test("a component that has to wait for a worker has conditions before its turn comes", async () => {
  const { hub, fleet, profiles } = scene();
  await scene().controller[Symbol.asyncDispose]();
  await using _controller = await startControllerProcess({
    kubeconfig: await fleet.controllerKubeconfig(),
    providerFile: await fleet.providerFile(),
    releaseDir: sampleDirOf(),
    flags: ["--concurrency=1"],
  });
  fleet.spoke(0).proxy.setRtt(200);
  const since = new Date();
  await create(hub, { kind, on: profiles[0] });
  await create(hub, { kind: "KnativeServing", on: { namespace: "fleet", name: "nowhere" } });
  const failed = { status: "False", reason: "ClusterProfileNotFound" };
  await condition(hub, "KnativeServing", ["Ready", failed]);
  const writes = (await writesTo(hub, since)).filter(
    ({ resource, user }) => resource === "knativeservings" && user.includes("serviceaccount"),
  );
  // The first before its turn; the second is what its turn found. It gets no finalizer, because nothing is written to its cluster.
  expect(writes.map(({ verb, subresource }) => `${verb} ${subresource}`)).toEqual([
    "update status",
    "update status",
  ]);
});
