import { describe, expect, test } from "vitest";

import { createKubeClient } from "../../../../access/kube/create-kube-client.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { mayBeUpstreams } from "../../../../controller/apply/adoption/upstream-objects.ts";
import { readAnchor } from "../../../../controller/apply/anchor/anchor.ts";
import type { Target } from "../../../../controller/target/target.ts";
import { startPatience, removeAnchor } from "../../../../controller/uninstall/finalize.ts";
import { anchorManifest } from "../../../../installation/anchor-object.ts";
import { anchorAnnotations } from "../../../../installation/anchor.ts";
import {
  type ApiStub,
  startApiStub,
  type StubAnswer,
  type StubRequest,
} from "../../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../../access/loopback.ts";
import { serving } from "../../../support/component.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const signal = AbortSignal.timeout(600_000);
const component = serving({ metadata: { uid: "component-uid" } });
const namespace = component.metadata.namespace;
const profile = { namespace: "fleet", name: "spoke-1" };
const ours = { namespace, hubId: "hub-a", fieldManager: "knfleet-hub-a", profile };
const theirs = { ...component, metadata: { ...component.metadata, uid: "other-uid" } };

/** An anchor as a spoke stores it. */
function stored(uid: string, owner: Parameters<typeof anchorManifest>[0]): Manifest {
  const manifest = anchorManifest(owner, "{}");
  return { ...manifest, metadata: { ...manifest.metadata, uid, resourceVersion: "7" } };
}

interface Scene {
  readonly target: Target;
  readonly api: ApiStub;
}

async function sceneOf(answer: (request: StubRequest) => StubAnswer): Promise<Scene> {
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  return { api, target: { ...ours, client: createKubeClient(requesterTo(api)) } };
}

function json(body: object, status = 200): StubAnswer {
  return { status, body: JSON.stringify(body) };
}

describe("T-52: an anchor that is there already", () => {
  const plain = anchorManifest({ component, target: ours }, "{}");
  const upstreams = { ...plain.metadata, annotations: {}, uid: "u", resourceVersion: "7" };
  const elsewhere = { [anchorAnnotations.hubId]: "hub-b" };
  const nobody = { ...plain.metadata, annotations: {}, labels: {}, uid: "u", resourceVersion: "7" };
  test.each([
    {
      name: "and belongs to another hub",
      anchor: stored("u", { component, target: { ...ours, hubId: "hub-b" } }),
    },
    {
      name: "and belongs to another component",
      anchor: stored("u", { component: theirs, target: ours }),
    },
    { name: "and says nothing of us", anchor: { ...plain, metadata: nobody } },
    {
      name: "and is upstream's, but was annotated with another hub",
      anchor: { ...plain, metadata: { ...upstreams, annotations: elsewhere } },
    },
  ])("$name is a conflict, and nothing is written", async ({ anchor }) => {
    const { target, api } = await sceneOf(() => json(anchor));
    await expect(readAnchor(component, target, signal)).rejects.toMatchObject({
      reason: "AnchorConflict",
    });
    expect(api.requests.map(({ method }) => method)).toEqual(["GET"]);
  });

  test("and is upstream's is taken over, without a word in the component", async () => {
    const { target } = await sceneOf(() => json({ ...plain, metadata: upstreams }));
    const anchor = await readAnchor(component, target, signal);
    expect(anchor).toMatchObject({ uid: "u", isMarked: false });
    expect(mayBeUpstreams({ component, target }, anchor)).toBe(true);
  });
});

describe("T-53: the deletion of an anchor", () => {
  test("names the uid that was judged to be ours, and spares what took its place", async () => {
    const own = stored("own", { component, target: ours });
    const foreign = stored("foreign", { component: theirs, target: ours });
    let isReplaced = false;
    const { target, api } = await sceneOf(({ method }) => {
      if (method !== "DELETE") return json(isReplaced ? foreign : own);
      isReplaced = true;
      const status = { kind: "Status", code: 409, reason: "Conflict", message: "uid differs" };
      return json(status, 409);
    });
    const anchor = await readAnchor(component, target, signal);
    if (anchor === undefined) throw new Error("There is an anchor");
    const patience = startPatience(new FakeClock(), 60_000);
    const removing = removeAnchor(anchor, { component, target, patience }, signal);
    await expect(removing).rejects.toMatchObject({ reason: "AnchorConflict" });
    const deletions = api.requests.filter(({ method }) => method === "DELETE");
    expect(deletions.map(({ body }): unknown => JSON.parse(body))).toEqual([
      expect.objectContaining({ preconditions: { uid: "own" } }),
    ]);
  });

  test("is not even tried when it belongs to another component", async () => {
    const foreign = stored("foreign", { component: theirs, target: ours });
    const { target, api } = await sceneOf(() => json(foreign));
    await expect(readAnchor(component, target, signal)).rejects.toThrow("another component");
    expect(api.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
  });
});
