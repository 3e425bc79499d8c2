import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { createAccessReviews } from "../../../webhook/reviews/access-review.ts";
import { componentReview } from "../../../webhook/reviews/component-review.ts";
import { openHubFacts } from "../../../webhook/reviews/hub-facts.ts";
import { setReview } from "../../../webhook/reviews/set-review.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { matchConditions } from "../match-conditions.ts";
import { type Sent, sendAs } from "../send-as.ts";
import { serve } from "../serving.ts";
import { namespace, set } from "./platform-set.ts";

const fleet = useFleet({ spokes: [] });
const opened = new AsyncDisposableStack();
const sets = `/apis/knfleet.dev/v1alpha1/namespaces/${namespace}/knativeservingsets`;
const components = `/apis/operator.knative.dev/v1beta1/namespaces/${namespace}/knativeservings`;
const setKind = { apiGroups: ["knfleet.dev"], resources: ["knativeservingsets"] };
/** Whoever may edit sets and components, may use every cluster, and may delete no component. */
const editor = [
  { ...setKind, verbs: ["get", "create", "update", "patch", "delete"] },
  {
    apiGroups: ["operator.knative.dev"],
    resources: ["knativeservings"],
    verbs: ["get", "create", "patch"],
  },
  { apiGroups: ["multicluster.x-k8s.io"], resources: ["clusterprofiles"], verbs: ["use"] },
];
let tokens = { editor: "", approver: "" };
let caBundle = "";

beforeAll(async () => {
  const { hub } = fleet();
  const end = new AbortController();
  opened.defer(() => end.abort());
  const approver = [...editor, { ...setKind, resourceNames: ["gated"], verbs: ["approve"] }];
  const [one, other] = await Promise.all([
    hub.serviceAccountToken({ namespace, name: "editor", rules: editor }),
    hub.serviceAccountToken({ namespace, name: "approver", rules: approver }),
  ]);
  tokens = { editor: one.token, approver: other.token };
  const kubeconfig = hub.adminKubeconfigPath;
  const login = { kubeconfig, environment: {}, userAgent: "knfleet-webhook" };
  const { client } = opened.use(await connectHub({ clock: systemClock, ...login }));
  const facts = opened.use(
    openHubFacts({ client, clock: systemClock, log: silentLog }, end.signal),
  );
  const accessReviews = createAccessReviews(client, systemClock);
  const rights = { manifestRight: false, spokeNamespace: "Canonical" } as const;
  const ofSets = setReview({ facts, accessReviews, clock: systemClock, ...rights });
  const ofComponents = componentReview({ facts, accessReviews, manifestSources: [] });
  const server = opened.use(
    await serve((request, signal) =>
      (request.kind.group === "knfleet.dev" ? ofSets : ofComponents)(request, signal),
    ),
  );
  caBundle = Buffer.from(server.authority.certificatePem).toString("base64");
  await askAt(server.server.port);
  await waitFor("the API server to ask the webhook", async () => {
    const probe = set("probe", { deletionPolicy: "Delete" });
    return (await send("POST", `${sets}?dryRun=All`, probe)).status === 403;
  });
}, 600_000);

afterAll(() => opened.disposeAsync());

/** Has the API server ask the webhook at a port, as the chart has it asked. */
async function askAt(port: number): Promise<void> {
  await fleet().hub.admin.apply({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "all" },
    webhooks: [
      {
        name: "all.knfleet.dev",
        clientConfig: { url: `https://127.0.0.1:${port}/validate`, caBundle },
        rules: [
          {
            apiGroups: ["knfleet.dev", "operator.knative.dev"],
            apiVersions: ["*"],
            operations: ["CREATE", "UPDATE"],
            resources: ["knativeservingsets", "knativeservings"],
          },
        ],
        matchConditions,
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 10,
      },
    ],
  });
}

async function send(...sent: Sent) {
  return sendAs(fleet().hub, tokens.editor, sent);
}

async function patch(name: string, change: object) {
  return send("PATCH", `${sets}/${name}`, change);
}

test("an editor without the right to approve takes no gate off the path of a set, and an approver does", async () => {
  const canary = { name: "canary", selector: { matchLabels: { stage: "canary" } } };
  const main = { name: "main", selector: {} };
  const gated = (after: object) => ({ rollout: { stages: [{ ...canary, after }, main] } });
  const after = { soak: "1h", approval: true };
  expect((await send("POST", sets, set("gated", gated(after)))).status).toBe(201);
  const loosened = [
    [gated({ soak: "1h" }), "rollout.stages[0].after.approval"],
    [gated({ ...after, soak: "1m" }), "rollout.stages[0].after.soak"],
    [{ rollout: { stages: [main] } }, "rollout.stages"],
    [{ rollout: null }, "rollout.stages"],
    [{ clusters: { exclude: [{ name: "eu-1" }] } }, "clusters.exclude"],
    [{ clusters: { selector: { matchLabels: { stage: "main" } } } }, "clusters"],
  ] as const;
  for (const [spec, field] of loosened) {
    const refused = await patch("gated", { spec });
    expect(refused).toMatchObject({ status: 403 });
    expect(refused.message).toContain(
      `spec.${field}: user "system:serviceaccount:platform:editor" may not "approve" stages of KnativeServingSet "platform/gated"`,
    );
    const path = `${sets}/gated?dryRun=All`;
    const allowed = await sendAs(fleet().hub, tokens.approver, ["PATCH", path, { spec }]);
    expect(allowed.status).toBe(200);
  }
  for (const spec of [
    { template: { spec: { version: "1.22.0" } } },
    { rollout: { paused: true } },
    gated({ ...after, soak: "2h" }),
  ]) {
    expect((await patch("gated", { spec })).status).toBe(200);
  }
});

describe("an editor without the right to delete components, on a real API server", () => {
  const held = { metadata: { finalizers: ["example.com/held"] } };
  const released = { metadata: { finalizers: null } };

  test("cannot have them deleted by a set that is being deleted already", async () => {
    expect((await send("POST", sets, set("one", {}))).status).toBe(201);
    expect((await patch("one", held)).status).toBe(200);
    expect((await send("DELETE", `${sets}/one`)).status).toBe(200);
    const key = { apiVersion: "knfleet.dev/v1alpha1", kind: "KnativeServingSet", namespace };
    const stored = await fleet().hub.admin.get({ ...key, name: "one" });
    expect(stored?.metadata).toMatchObject({
      deletionTimestamp: expect.any(String),
      generation: 2,
    });
    for (const spec of [
      { deletionPolicy: "Delete" },
      { clusters: { exclude: [{ name: "eu-1" }] } },
      { rollout: { stages: [] } },
    ]) {
      expect(await patch("one", { spec })).toMatchObject({
        status: 403,
        message: expect.stringContaining(
          'spec: no longer changes, because KnativeServingSet "platform/one" is being deleted',
        ),
      });
    }
    const annotations = { "example.com/a": "b" };
    expect((await patch("one", { metadata: { annotations } })).status).toBe(200);
    expect((await patch("one", released)).status).toBe(200);
    expect((await send("GET", `${sets}/one`)).status).toBe(404);
  });

  test("cannot change the spec of a component that is being deleted, and can let it go while the webhook is away", async () => {
    const { admin } = fleet().hub;
    const kind = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing" };
    const component = { ...kind, metadata: { namespace, name: "knative", ...held.metadata } };
    const clusterProfileRef = { namespace: "fleet", name: "eu-1" };
    await admin.apply({ ...component, spec: { clusterProfileRef } });
    await admin.remove({ ...kind, namespace, name: "knative" });
    const one = `${components}/knative`;
    const change = { spec: { additionalManifests: [{ URL: "https://example.com/a.yaml" }] } };
    const message = expect.stringContaining("is being deleted");
    expect(await send("PATCH", one, change)).toMatchObject({ status: 403, message });
    await askAt(1);
    await waitFor("the webhook to be away", async () => {
      const { status } = await send("PATCH", one, change);
      return status === 500;
    });
    expect((await send("PATCH", one, released)).status).toBe(200);
    expect((await send("GET", one)).status).toBe(404);
  });
});
