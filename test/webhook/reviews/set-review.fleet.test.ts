import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { createAccessReviews } from "../../../webhook/reviews/access-review.ts";
import { openHubFacts } from "../../../webhook/reviews/hub-facts.ts";
import { setReview } from "../../../webhook/reviews/set-review.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { type Sent, sendAs } from "../send-as.ts";
import { serve } from "../serving.ts";
import { namespace, set } from "./platform-set.ts";

const fleet = useFleet({ spokes: [] });
const opened = new AsyncDisposableStack();
const sets = `/apis/knfleet.dev/v1alpha1/namespaces/${namespace}/knativeservingsets`;
const writesSets = {
  apiGroups: ["knfleet.dev"],
  resources: ["knativeservingsets", "knativeservingsets/status"],
  verbs: ["get", "create", "update", "patch", "delete"],
};
const profiles = { apiGroups: ["multicluster.x-k8s.io"], resources: ["clusterprofiles"] };
const rights = {
  use: { ...profiles, verbs: ["use"] },
  create: onComponents("create"),
  delete: onComponents("delete"),
  "apply-cluster-scoped": onComponents("apply-cluster-scoped"),
  approve: {
    apiGroups: ["knfleet.dev"],
    resources: ["knativeservingsets"],
    resourceNames: ["prod"],
    verbs: ["approve"],
  },
} as const;
type Right = keyof typeof rights;
const needed = ["use", "create", "delete", "apply-cluster-scoped"] as const;
const tokens = new Map<string, string>();

function onComponents(verb: string) {
  return { apiGroups: ["operator.knative.dev"], resources: ["knativeservings"], verbs: [verb] };
}

/** A user who may write sets and has these further rights. */
async function addUser(name: string, has: readonly Right[], others: readonly object[] = []) {
  const rules = [writesSets, ...has.map((right) => rights[right]), ...others].map((rule) => ({
    ...writesSets,
    ...rule,
  }));
  const { token } = await fleet().hub.serviceAccountToken({ namespace, name, rules });
  tokens.set(name, token);
}

beforeAll(async () => {
  const { hub } = fleet();
  const end = new AbortController();
  opened.defer(() => end.abort());
  const named = { ...rights.use, resourceNames: ["eu-1"] };
  await Promise.all([
    addUser("alice", needed),
    ...needed.map((right) =>
      addUser(
        `without-${right}`,
        needed.filter((one) => one !== right),
      ),
    ),
    addUser("named", ["create", "delete", "apply-cluster-scoped"], [named]),
    addUser("approver", ["approve"]),
    addUser("mallory", []),
  ]);
  const kubeconfig = hub.adminKubeconfigPath;
  const login = { kubeconfig, environment: {}, userAgent: "knfleet-webhook" };
  const connection = await connectHub({ clock: systemClock, ...login });
  const { client } = opened.use(connection);
  const facts = opened.use(
    openHubFacts({ client, clock: systemClock, log: silentLog }, end.signal),
  );
  const accessReviews = createAccessReviews(client, systemClock);
  const review = setReview({
    facts,
    accessReviews,
    manifestRight: true,
    spokeNamespace: "Component",
    clock: systemClock,
  });
  const server = opened.use(await serve(review));
  await hub.admin.apply({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "sets" },
    webhooks: [
      {
        name: "sets.knfleet.dev",
        clientConfig: {
          url: `https://127.0.0.1:${server.server.port}/validate`,
          caBundle: Buffer.from(server.authority.certificatePem).toString("base64"),
        },
        rules: [
          {
            apiGroups: ["knfleet.dev"],
            apiVersions: ["v1alpha1"],
            operations: ["CREATE", "UPDATE"],
            resources: ["knativeservingsets", "knativeeventingsets"],
          },
        ],
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 10,
      },
    ],
  });
  await waitFor("the API server to ask the webhook", async () => {
    const { message } = await send("mallory", "POST", `${sets}?dryRun=All`, set("probe", {}));
    return message.includes("may not use");
  });
}, 600_000);

afterAll(() => opened.disposeAsync());

async function send(user: string, ...sent: Sent) {
  return sendAs(fleet().hub, tokens.get(user) ?? "", sent);
}

const account = (name: string) => `system:serviceaccount:${namespace}:${name}`;
const valueOf = (user: string, name = "prod") => `${name}-0123456789 ${account(user)}`;
const kourier = (fields: object) => ({ ingress: { kourier: { enabled: true, ...fields } } });
/** Needs every right. */
const demanding = {
  deletionPolicy: "Delete",
  overrides: [
    {
      name: "extra",
      clusters: ["eu-*"],
      patch: { additionalManifests: [{ URL: "https://example.com/a.yaml" }] },
    },
  ],
};

const patched = (content: string) => ({
  patches: [
    {
      target: { apiVersion: "apps/v1", kind: "Deployment", name: "webhook" },
      patch: { type: "strategic", content },
    },
  ],
});

describe("the author of a set, on a real API server", () => {
  test.each([
    [
      "use",
      'spec.clusters.selector.namespaces[0]: user "USER" may not use all ClusterProfiles of namespace "fleet"',
    ],
    ["create", 'spec.template: user "USER" may not create KnativeServings in namespace "platform"'],
    [
      "delete",
      'spec.deletionPolicy: user "USER" may not delete KnativeServings in namespace "platform"',
    ],
    [
      "apply-cluster-scoped",
      'spec.overrides[0].patch: user "USER" may not "apply-cluster-scoped" for KnativeServings',
    ],
  ])("needs the right to %s", async (right, line) => {
    const user = `without-${right}`;
    for (const path of [sets, `${sets}?dryRun=All`]) {
      const refused = await send(user, "POST", path, set("refused", demanding));
      expect(refused.status).toBe(403);
      expect(refused.message).toContain(line.replace("USER", account(user)));
      expect(refused.message.split("\n")).toHaveLength(1);
    }
    expect((await send("alice", "POST", `${sets}?dryRun=All`, set("a", demanding))).status).toBe(
      201,
    );
  });

  test("needs the right to apply-cluster-scoped for images and for patches that give a pod more", async () => {
    const user = "without-apply-cluster-scoped";
    const store = async (patch: object) => {
      const overrides = [{ name: "extra", clusters: ["eu-*"], patch }];
      const sent = set("patched", { overrides });
      return (await send(user, "POST", `${sets}?dryRun=All`, sent)).status;
    };
    expect(await store(patched("spec: {template: {spec: {hostPID: true}}}"))).toBe(403);
    expect(await store({ registry: { override: { webhook: "example.com/a" } } })).toBe(403);
    expect(await store(patched("spec: {minReadySeconds: 1}"))).toBe(201);
  });

  test("needs the right to use every cluster, not only one by its name", async () => {
    const { status, message } = await send("named", "POST", sets, set("refused", {}));
    expect({ status, message }).toMatchObject({
      status: 403,
      message: expect.stringContaining("may not use all"),
    });
  });

  test("needs it for changes of clusters, template and overrides, and for nothing else", async () => {
    expect((await send("alice", "POST", sets, set("one", {}))).status).toBe(201);
    const one = `${sets}/one`;
    const changes = [
      { clusters: { exclude: [{ name: "eu-1" }] } },
      { template: { spec: { version: "1.22.0" } } },
      { overrides: [] },
      { whenUnselected: { policy: "Delete" } },
    ];
    for (const spec of changes) {
      expect((await send("mallory", "PATCH", one, { spec })).status).toBe(403);
      expect((await send("alice", "PATCH", `${one}?dryRun=All`, { spec })).status).toBe(200);
    }
    const harmless = [
      { spec: { rollout: { paused: true } } },
      { metadata: { labels: { a: "b" }, finalizers: ["example.com/a"] } },
      { metadata: { annotations: { "knfleet.dev/pause-rollout": "the network is down" } } },
    ];
    for (const change of harmless) {
      expect((await send("mallory", "PATCH", one, change)).status).toBe(200);
    }
    const status = { status: { observedGeneration: 1 } };
    expect((await send("mallory", "PATCH", `${one}/status`, status)).status).toBe(200);
    expect((await send("mallory", "DELETE", one)).status).toBe(200);
    const last = { metadata: { finalizers: null } };
    expect((await send("mallory", "PATCH", one, last)).status).toBe(200);
    expect((await send("mallory", "GET", one)).status).toBe(404);
  });
});

test("an approval needs the right to approve this set, and the name of the user who gives it", async () => {
  const rollout = { stages: [{ name: "canary", selector: {}, after: { approval: true } }] };
  expect((await send("alice", "POST", sets, set("prod", { rollout }))).status).toBe(201);
  expect((await send("alice", "POST", sets, set("other", { rollout }))).status).toBe(201);
  const key = "knfleet.dev/approve.canary-after";
  const approve = (user: string, name: string, value: string | null) =>
    send(user, "PATCH", `${sets}/${name}`, { metadata: { annotations: { [key]: value } } });

  const unable = await approve("alice", "prod", valueOf("alice"));
  expect(unable).toMatchObject({ status: 403 });
  expect(unable.message).toContain('may not "approve" stages of KnativeServingSet "platform/prod"');
  expect(await approve("approver", "other", valueOf("approver", "other"))).toMatchObject({
    status: 403,
  });
  expect(await approve("approver", "prod", valueOf("alice"))).toMatchObject({ status: 422 });
  expect(await approve("approver", "prod", valueOf("approver"))).toMatchObject({ status: 200 });
  expect(await approve("alice", "prod", valueOf("alice"))).toMatchObject({ status: 403 });
  expect(await approve("alice", "prod", null)).toMatchObject({ status: 200 });
});

test("all problems are told at once, each with its field, and warnings beside what is stored", async () => {
  const wrong = set("wrong", {
    template: {
      metadata: { labels: { "knfleet.dev/set": "x" } },
      spec: { registry: { default: "$(cluster.region)/${NAME}" } },
    },
    overrides: [
      {
        name: "eu",
        selector: { matchExpressions: [{ key: "a", operator: "in" }] },
        patch: { registry: { default: "no image" } },
      },
    ],
    rollout: { windows: [{ cron: "0 0 30 2 *", duration: "1h" }], order: "Label:a b" },
  });
  const { status, message } = await send("alice", "POST", sets, wrong);
  expect(status).toBe(422);
  for (const field of [
    'template.metadata.labels["knfleet.dev/set"]',
    "template.spec.registry.default",
    "overrides[0].selector.matchExpressions[0].operator",
    "overrides[0].patch.registry.default",
    "rollout.windows[0].cron",
    "rollout.order",
  ]) {
    expect(message).toContain(`spec.${field}: `);
  }
  const none = { clusters: { from: "Selector", selector: { namespaces: ["nowhere"] } } };
  const stored = await send("alice", "POST", `${sets}?dryRun=All`, set("none", none));
  expect(stored.status).toBe(201);
  expect(stored.warnings).toContain("selects no ClusterProfile now");
  expect(stored.warnings).toContain("with --spoke-namespace=Component");
});

test("what overrides give together is judged for the clusters that are there", async () => {
  const together = set("together", {
    template: { spec: kourier({ "service-type": "NodePort" }) },
    overrides: [
      { name: "port", clusters: ["eu-*"], patch: kourier({ "http-port": 30_080 }) },
      {
        name: "balancer",
        selector: { matchLabels: { tier: "gold" } },
        patch: kourier({ "service-type": "LoadBalancer" }),
      },
    ],
  });
  const path = `${sets}?dryRun=All`;
  expect((await send("alice", "POST", path, together)).status).toBe(201);
  const { admin } = fleet().hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "fleet" } });
  await admin.apply({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name: "eu-9", labels: { tier: "gold" } },
    spec: { clusterManager: { name: "test" } },
  });
  const message = await waitFor("the webhook to see the ClusterProfile", async () => {
    const answer = await send("alice", "POST", path, together);
    return answer.status === 422 ? answer.message : undefined;
  });
  expect(message).toContain("http-port: ");
  expect(message).toContain('(together with override "');
});
