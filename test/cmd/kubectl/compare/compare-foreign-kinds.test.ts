import { expect, test } from "vitest";

import { createKubeClient } from "../../../../access/kube/create-kube-client.ts";
import { compare } from "../../../../cmd/kubectl/compare/compare.ts";
import { readAnchor } from "../../../../controller/apply/anchor/anchor.ts";
import { anchorManifest } from "../../../../installation/anchor-object.ts";
import { componentUidLabel } from "../../../../installation/anchor.ts";
import { prepare } from "../../../../installation/desired.ts";
import { encodeInventory } from "../../../../installation/inventory.ts";
import { startApiStub, type StubAnswer, type StubRequest } from "../../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../../access/loopback.ts";
import { eventing } from "../../../controller/apply/installer.ts";

const signal = AbortSignal.timeout(600_000);
const uid = "component-uid";
const component = eventing({}, { uid });
const { namespace } = component.metadata;
const profile = { namespace: "fleet", name: "spoke-1" };
const ours = { namespace, hubId: "hub-a", fieldManager: "knfleet-hub-a", profile };
const version = "1.23.0";
const ox = { apiVersion: "foreign.dev/v1", kind: "Ox", name: "one" };
const metadata = { name: ox.name, uid: "ox", resourceVersion: "1" };
const live = { ...ox, metadata: { ...metadata, labels: { [componentUidLabel]: uid } } };

function json(body: object, status = 200): StubAnswer {
  return { status, body: JSON.stringify(body) };
}

/** What came out for a cluster on which the last object of a cluster-scoped kind with an odd plural is wanted no more. */
async function compared(isThere: boolean) {
  const text = encodeInventory({
    version,
    complete: true,
    entries: [{ ...ox, hash: "h", fingerprint: "f" }],
  });
  const manifest = anchorManifest({ component, target: ours }, text);
  const answer = ({ path: url }: StubRequest): StubAnswer => {
    const [path = ""] = url.split("?");
    const stored = { ...manifest.metadata, uid: "anchor", resourceVersion: "1" };
    if (path.includes("/configmaps/")) return json({ ...manifest, metadata: stored });
    if (path === "/apis/foreign.dev/v1") {
      return json({ resources: [{ name: "oxen", kind: "Ox", namespaced: false }] });
    }
    if (path === "/apis/foreign.dev/v1/oxen") {
      return json({ metadata: { resourceVersion: "9" }, items: isThere ? [live] : [] });
    }
    if (path === "/apis/foreign.dev/v1/oxen/one" && isThere) return json(live);
    return json({ kind: "Status", code: 404, reason: "NotFound" }, 404);
  };
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  const target = { ...ours, client: createKubeClient(requesterTo(api)) };
  const anchor = await readAnchor(component, target, signal);
  const place = { component, target, anchor, isOurs: true, secondOwner: undefined };
  const desired = prepare({ version, manifests: [] });
  const { changes } = await compare({ place, desired, manifests: [], asksForNew: true }, signal);
  return changes.filter(({ key }) => key.kind === "Ox").map(({ change, key }) => [change, key]);
}

test("what is wanted no more is found where the cluster serves it, and missed by nobody when it is gone", async () => {
  expect(await compared(true)).toEqual([["extra", ox]]);
  expect(await compared(false)).toEqual([]);
});
