import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { HubConnection } from "../../../access/hub/hub.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { keyOf, type Manifest, type ObjectKey } from "../../../api/kubernetes.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import {
  type ApiStub,
  startApiStub,
  type StubAnswer,
  type StubRequest,
} from "../../access/api-stub.ts";
import { authority, serverIdentity } from "../../access/loopback.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import {
  connectAs,
  eventing,
  existing,
  installByHand,
  remoteTarget,
  type Installation,
} from "../hand-made-installation.ts";

const fleet = useSpokes([{ kwok: false, admissionWebhooks: true }]);
const { signal } = new AbortController();
const webhook = "deletes.example.com";

let admin: AdminClient;
let spoke: HubConnection;
let denying: ApiStub;

beforeAll(async () => {
  admin = fleet().spoke(0).admin;
  spoke = await connectAs(fleet().spoke(0), "controller", { clusterRoles: ["knfleet-spoke"] });
  denying = await startApiStub({ identity: serverIdentity, answer: deny, http1: true });
});

afterAll(async () => {
  await denying[Symbol.asyncDispose]();
  await spoke[Symbol.asyncDispose]();
});

/** Says no with the status that its path names; without one, the API server takes one of its own. */
function deny({ path, body }: StubRequest): StubAnswer {
  const review: unknown = JSON.parse(body);
  const code = Number(path.split("?")[0]?.slice(1));
  const status = { message: "kept", ...(code === 0 ? {} : { code }) };
  const response = { uid: valueAt(review, "request", "uid"), allowed: false, status };
  const answer = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
  return { body: JSON.stringify(answer) };
}

/** Denies the deletion of the ConfigMaps of one name in a namespace. */
function denial(namespace: string, name: string, url: string): Manifest {
  const caBundle = Buffer.from(authority.certificatePem).toString("base64");
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: `denies-in-${namespace}` },
    webhooks: [
      {
        name: webhook,
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Fail",
        timeoutSeconds: 5,
        clientConfig: { url, caBundle },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        matchConditions: [{ name: "this", expression: `oldObject.metadata.name == '${name}'` }],
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["DELETE"],
            resources: ["configmaps"],
          },
        ],
      },
    ],
  };
}

function urlOf(path: string): string {
  return `${denying.server}/${path}`;
}

/** Lets the deletion of one object be denied, and returns when it is. */
async function denied(key: ObjectKey, url: string): Promise<ObjectKey> {
  const { namespace = "", name } = key;
  const manifest = denial(namespace, name, url);
  await admin.create(manifest);
  const path = `/api/v1/namespaces/${namespace}/configmaps/${name}?dryRun=All`;
  await waitFor("the webhook to be asked", () =>
    admin.request("DELETE", path).then(
      () => false,
      () => true,
    ),
  );
  return keyOf(manifest);
}

interface Crowded extends Installation {
  /** In the order in which the server deletes them. */
  readonly configMaps: readonly ObjectKey[];
}

/** An installation with several objects in one collection, of which the server comes first to the one named `a`. */
async function crowded(word: string): Promise<Crowded> {
  const installed = await installByHand({
    component: eventing(word),
    target: remoteTarget(spoke.client, word),
    admin,
    kinds: ["ConfigMap", "ClusterRole"],
  });
  const more = ["a", "b", "c"].map((name) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: word,
      name,
      labels: { [componentUidLabel]: installed.component.metadata.uid },
    },
  }));
  for (const manifest of more) await admin.create(manifest);
  const configMaps = more.map(keyOf);
  return { ...installed, configMaps, keys: [...installed.keys, ...configMaps] };
}

function finalized({ component, target }: Installation, patienceMs?: number) {
  const patience = patienceMs === undefined ? {} : { patienceMs };
  return finalize(
    { component, target },
    { clock: systemClock, log: silentLog, ...patience },
    signal,
  );
}

const waiting = "Waiting for the deletion of ConfigMap";
const denies = `the admission webhook ${webhook} denies it`;

describe("D-06: a webhook that lets one object not be deleted", () => {
  test.each([
    {
      what: "without a status of its own",
      word: "denied",
      path: () => urlOf(""),
      message: `${waiting} denied/a: ${denies}`,
    },
    {
      what: "as not allowed",
      word: "forbidden",
      path: () => urlOf("403"),
      message: `[AdmissionRefused] Deleting configmaps in namespace forbidden is not allowed on the target cluster: ${denies}`,
    },
    {
      what: "because it does not answer",
      word: "silent",
      path: () => "https://127.0.0.1:9/nobody",
      message: `${waiting} silent/a: the webhook ${webhook} does not answer`,
    },
  ])("$what is named, and keeps nothing else", async ({ word, path, message }) => {
    const installed = await crowded(word);
    const [first] = installed.configMaps;
    if (first === undefined) throw new Error("There are three");
    const key = await denied(first, path());
    await expect(finalized(installed, 200)).rejects.toMatchObject({ message });
    expect(await existing(admin, installed.keys)).toEqual(["ConfigMap a"]);
    await admin.remove(key);
    await waitFor("the rest to go", () =>
      finalized(installed).then(
        () => true,
        () => false,
      ),
    );
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test.each([
    {
      what: "as not allowed",
      word: "root-forbidden",
      code: "403",
      says: "is not allowed on the target cluster",
    },
    { what: "otherwise", word: "root-denied", code: "", says: "was not possible" },
    { what: "in conflict", word: "root-conflict", code: "409", says: "was not possible" },
  ])("and is the anchor is named, $what", async ({ word, code, says }) => {
    const installed = await crowded(word);
    const { key } = installed.anchor;
    await denied(key, urlOf(code));
    await expect(finalized(installed)).rejects.toMatchObject({
      message: expect.stringContaining(`Deleting ConfigMap ${word}/${key.name} ${says}: ${denies}`),
    });
    expect(await existing(admin, [...installed.keys, key])).toEqual([`ConfigMap ${key.name}`]);
  });
});

test("what is deleted is waited for, however long it took to ask for that", async () => {
  const component = eventing("slow");
  const target = remoteTarget(spoke.client, "slow");
  const kinds = ["ConfigMap", "Secret"];
  const { keys, anchor } = await installByHand({ component, target, admin, kinds });
  const [key = anchor.key] = keys;
  await admin.patch(key, { metadata: { finalizers: ["example.com/hold"] } });
  let passedMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + passedMs };
  const client: KubeClient = {
    ...spoke.client,
    removeCollection: (...args) => {
      passedMs += 120_000;
      return spoke.client.removeCollection(...args);
    },
  };
  const installed = { component, target: { ...target, client } };
  const removing = finalize(installed, { log: silentLog, clock, patienceMs: 60_000 }, signal);
  removing.catch(() => undefined);
  await waitFor("the deletion to be asked for", async () => {
    return (await admin.get(key))?.metadata.deletionTimestamp !== undefined;
  });
  await admin.patch(key, { metadata: { finalizers: null } });
  expect(await removing).toEqual({ removed: keys.length });
  expect(await existing(admin, [...keys, anchor.key])).toEqual([]);
});
