import { setTimeout as delay } from "node:timers/promises";

import { describe, expect, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { type Death, dyingClient } from "./dying-client.ts";
import { eventing, type Installer, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf, serviceOf } from "./small-set.ts";
import { writtenTo } from "./spoke-view.ts";

const fleet = useSpokes([{ kwok: false }]);

/** A set of which only one value of one object differs from level to level. */
function logging(namespace: string, level: string): Rendered {
  const config = manifestOf(`v1 ConfigMap ${namespace}/logging`, { data: { level } });
  return renderedOf(config, serviceOf(namespace));
}

async function opened(namespace: string) {
  const spoke = fleet().spoke(0);
  const component = eventing({}, { namespace });
  const { installer, ...rest } = await openInstaller(spoke, { component });
  const [info, debug] = [logging(namespace, "info"), logging(namespace, "debug")];
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "logging" };
  const level = async () => valueAt(await spoke.admin.get(key), "data", "level");
  return { spoke, installer, info, debug, level, ...rest };
}

/** A client that loses the answers to what it applies under a name for as long as it is told to. */
function losingAnswers(client: KubeClient, name: string, isLosing: () => boolean): KubeClient {
  return {
    ...client,
    apply: async (...args) => {
      const answer = await client.apply(...args);
      if (args[0].name === name && isLosing()) throw new Error("The connection was lost");
      return answer;
    },
  };
}

/** A client that keeps what it should apply under a name, as a server may that has not answered, for as long as it is told to. */
function holdingBack(client: KubeClient, name: string, isHolding: () => boolean) {
  const held: (() => Promise<unknown>)[] = [];
  const holding: KubeClient = {
    ...client,
    apply: (...args) => {
      if (args[0].name !== name || !isHolding()) return client.apply(...args);
      const [ref, object, options] = args;
      held.push(() => client.apply(ref, object, options, AbortSignal.timeout(60_000)));
      return Promise.reject(new Error("The connection was lost"));
    },
  };
  return { client: holding, land: () => Promise.all(held.map((work) => work())) };
}

/** The set with one object more. */
function withExtra({ manifests }: Rendered, namespace: string): Rendered {
  return renderedOf(...manifests, manifestOf(`v1 ConfigMap ${namespace}/extra`, { data: {} }));
}

async function isRecorded(installer: Installer): Promise<boolean | undefined> {
  const { component, target } = installer;
  const anchor = await readAnchor(component, target, AbortSignal.timeout(60_000));
  return anchor?.inventory?.complete;
}

describe("a change that is taken back before it was finished", () => {
  test.each<Death>([
    { write: 1, side: "after" },
    { write: 2, side: "before" },
    { write: 2, side: "after" },
    { write: 3, side: "before" },
    { write: 3, side: "after" },
  ])("leaves nothing where the controller died $side write $write of it", async (death) => {
    await using scene = await opened(`reverted-${death.write}-${death.side}`);
    const { installer, info, debug, level } = scene;
    await installer.install({ rendered: info });
    await using dying = installer.beside(dyingClient(installer.client, death).client);
    await expect(dying.install({ rendered: debug })).rejects.toThrow("The process is dead");
    await installer.restart();
    expect(await installer.install({ rendered: info })).toMatchObject({ parked: [], failed: [] });
    expect(await level()).toBe("info");
    expect(await isRecorded(installer)).toBe(true);
    expect((await installer.install({ rendered: info })).applied).toEqual([]);
  });

  test("leaves nothing where the answer was lost", async () => {
    await using scene = await opened("answer-lost");
    const { spoke, info, debug, level } = scene;
    let isLosing = false;
    const client = losingAnswers(scene.installer.client, "logging", () => isLosing);
    await using installer = scene.installer.beside(client);
    await installer.install({ rendered: info });
    isLosing = true;
    await expect(installer.install({ rendered: debug })).rejects.toThrow("The connection was lost");
    expect(await level()).toBe("debug");
    isLosing = false;
    const since = new Date();
    const changes = await installer.install({ rendered: info });
    expect(changes).toMatchObject({ applied: [{ name: "logging" }], repaired: [] });
    expect(await level()).toBe("info");
    const { component, target } = installer;
    const anchor = await readAnchor(component, target, AbortSignal.timeout(60_000));
    expect(await writtenTo(spoke, since)).toEqual([
      "patch configmaps logging",
      `patch configmaps ${anchor?.key.name}`,
    ]);
  });

  test("leaves nothing where a write of it lands when it is taken back already", async () => {
    await using scene = await opened("landed-late");
    const { info, debug, level } = scene;
    let isHolding = false;
    const server = holdingBack(scene.installer.client, "logging", () => isHolding);
    await using installer = scene.installer.beside(server.client);
    await installer.install({ rendered: info });
    isHolding = true;
    await expect(installer.install({ rendered: debug })).rejects.toThrow("The connection was lost");
    isHolding = false;
    const { applied } = await installer.install({ rendered: info });
    expect(applied).toMatchObject([{ name: "logging" }]);
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    installer.changes.length = 0;
    // The server tells two applies apart by the second.
    await delay(1100);
    await server.land();
    expect(await level()).toBe("debug");
    await waitFor("the change to be seen", async () =>
      installer.changes.some((change) => change.kind === "apply" && change.key.name === "logging"),
    );
    expect((await installer.install({ rendered: info })).repaired).toMatchObject([
      { name: "logging" },
    ]);
    expect(await level()).toBe("info");
    expect((await installer.install({ rendered: info })).applied).toEqual([]);
  });

  test.each([
    { what: "that it was about to make", wasThere: false },
    { what: "that it had made before", wasThere: true },
  ])("leaves nothing of an object $what, where a write lands late", async ({ wasThere }) => {
    const namespace = `stray-${wasThere}`;
    await using scene = await opened(namespace);
    const { spoke, info } = scene;
    const more = withExtra(info, namespace);
    let isHolding = false;
    const server = holdingBack(scene.installer.client, "extra", () => isHolding);
    await using installer = scene.installer.beside(server.client);
    await installer.install({ rendered: wasThere ? more : info });
    isHolding = true;
    if (wasThere) installer.audit();
    await expect(installer.install({ rendered: more })).rejects.toThrow("The connection was lost");
    isHolding = false;
    await installer.install({ rendered: info });
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const key = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "extra" };
    await waitFor("the object to be gone", async () => (await spoke.admin.get(key)) === undefined);
    installer.changes.length = 0;
    await server.land();
    expect(await spoke.admin.get(key)).toBeDefined();
    await waitFor("the object to be told of", async () =>
      installer.changes.some((one) => one.kind === "object" && one.key.name === key.name),
    );
    const changes = await installer.install({ rendered: info });
    expect(changes).toMatchObject({ applied: [], pruned: [key], failed: [], lingering: [] });
    expect(await spoke.admin.get(key)).toBeUndefined();
    const since = new Date();
    await installer.install({ rendered: info });
    expect(await writtenTo(spoke, since)).toEqual([]);
    expect(await isRecorded(installer)).toBe(true);
  });
});
