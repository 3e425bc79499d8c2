import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { render } from "../../../render/render.ts";
import type { Review } from "../../../webhook/reply.ts";
import { createAccessReviews } from "../../../webhook/reviews/access-review.ts";
import { componentReview } from "../../../webhook/reviews/component-review.ts";
import { openHubFacts } from "../../../webhook/reviews/hub-facts.ts";
import { providerFileReview } from "../../../webhook/reviews/provider-file-review.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { serving as componentOf } from "../../support/component.ts";
import { silentLog } from "../../support/silent-log.ts";
import { edgeSpec } from "../edge-spec.ts";
import { type Sent, sendAs } from "../send-as.ts";
import { serve } from "../serving.ts";

const fleet = useFleet({ spokes: 0 });
const opened = new AsyncDisposableStack();
const team = "team";
const components = "/apis/operator.knative.dev/v1beta1/namespaces/team/knativeservings";
const providerMap = (data: object) => ({
  metadata: { name: "providers", labels: { "knfleet.dev/access-providers": "yes" } },
  data,
});
let tokens: Readonly<Record<string, string>> = {};

const mayWrite = {
  apiGroups: ["operator.knative.dev", ""],
  resources: ["knativeservings", "knativeservings/status", "configmaps"],
  verbs: ["*"],
};
const mayUse = {
  apiGroups: ["multicluster.x-k8s.io"],
  resources: ["clusterprofiles"],
  resourceNames: ["spoke-1", "spoke-2"],
  verbs: ["use"],
};

beforeAll(async () => {
  const { hub } = fleet();
  const end = new AbortController();
  opened.defer(() => end.abort());
  const [alice, mallory] = await Promise.all([
    hub.serviceAccountToken({ namespace: team, name: "alice", rules: [mayWrite, mayUse] }),
    hub.serviceAccountToken({ namespace: team, name: "mallory", rules: [mayWrite] }),
  ]);
  tokens = { alice: alice.token, mallory: mallory.token };
  const kubeconfig = hub.adminKubeconfigPath;
  const connection = await connectHub({
    clock: systemClock,
    kubeconfig,
    environment: {},
    userAgent: "knfleet-webhook",
  });
  const { client } = opened.use(connection);
  const options = { clock: systemClock, client, log: silentLog, providerNamespace: team };
  const facts = opened.use(openHubFacts(options, end.signal));
  const accessReviews = createAccessReviews(client, systemClock);
  const operator = { apiGroups: ["operator.knative.dev"], apiVersions: ["v1beta1"] };
  const core = { apiGroups: [""], apiVersions: ["v1"] };
  await install("components", componentReview({ facts, accessReviews, manifestSources: [] }), {
    ...operator,
    operations: ["CREATE", "UPDATE", "DELETE"],
    resources: ["knativeservings", "knativeservings/status", "knativeeventings"],
  });
  await install("provider-file", providerFileReview({ facts }), {
    ...core,
    operations: ["CREATE", "UPDATE", "DELETE"],
    resources: ["configmaps"],
  });
  const probe = serving("probe", at("spoke-1"));
  await waitFor("the API server to ask the webhook", async () => {
    const { message } = await send("mallory", "POST", `${components}?dryRun=All`, probe);
    return message.includes("may not use");
  });
}, 600_000);

afterAll(() => opened.disposeAsync());

async function install(name: string, review: Review, rule: object): Promise<void> {
  const server = opened.use(await serve(review));
  await fleet().hub.admin.apply({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: [
      {
        name: `${name}.knfleet.dev`,
        clientConfig: {
          url: `https://127.0.0.1:${server.server.port}/validate`,
          caBundle: Buffer.from(server.authority.certificatePem).toString("base64"),
        },
        rules: [rule],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": team } },
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 5,
      },
    ],
  });
}

async function send(user: string, ...sent: Sent) {
  const { status, message } = await sendAs(fleet().hub, tokens[user] ?? "", sent);
  return { status, message };
}

function at(name: string): object {
  return { clusterProfileRef: { namespace: "fleet", name } };
}

function serving(name: string, spec: object): object {
  return {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: { name, namespace: team },
    spec,
  };
}

describe("real users on a real API server", () => {
  test("T-01 to T-08, T-73 the right to use a cluster, and what passes without it", async () => {
    const refused = await send("mallory", "POST", components, serving("one", at("spoke-1")));
    expect(refused.status).toBe(403);
    expect(refused.message).toContain(
      'spec.clusterProfileRef: user "system:serviceaccount:team:mallory" may not use ClusterProfile "fleet/spoke-1"',
    );
    expect((await send("alice", "POST", components, serving("one", at("spoke-1")))).status).toBe(
      201,
    );
    // T-02: any field of a component that has the reference; metadata and status need no right.
    const changed = await send("mallory", "PATCH", `${components}/one`, {
      spec: { version: "1.23.0" },
    });
    expect(changed.status).toBe(403);
    const labelled = { metadata: { labels: { a: "b" } } };
    expect((await send("mallory", "PATCH", `${components}/one`, labelled)).status).toBe(200);
    const status = { status: { version: "1.22.0" } };
    expect((await send("mallory", "PATCH", `${components}/one/status`, status)).status).toBe(200);
    // T-06, by the CRD or by the webhook.
    const moved = await send("alice", "PATCH", `${components}/one`, { spec: at("spoke-2") });
    expect(moved.status).toBeGreaterThanOrEqual(400);
    expect(moved.message).toContain("immutable");
  });

  test("the second component of a kind on a cluster is refused", async () => {
    const second = serving("two", at("spoke-1"));
    const message = await waitFor("the second to be refused", async () => {
      const answer = await send("alice", "POST", `${components}?dryRun=All`, second);
      return answer.status === 409 ? answer.message : undefined;
    });
    expect(message).toContain("KnativeServing team/one is on the same cluster");
  });

  test("all problems are told at once, each with its field", async () => {
    const spec = {
      ...at("spoke-2"),
      additionalManifests: [{ URL: "file:///etc/passwd" }],
      registry: { default: "no image" },
      podDisruptionBudgets: [{ name: "a", minAvailable: 1, maxUnavailable: 1 }],
    };
    const { status, message } = await send("alice", "POST", components, serving("three", spec));
    expect(status).toBe(422);
    for (const field of [
      "additionalManifests[0].URL",
      "registry.default",
      "podDisruptionBudgets[0]",
    ]) {
      expect(message).toContain(`spec.${field}: `);
    }
  });

  test("T-25 to T-27 a provider file is refused with its position, and can be deleted", async () => {
    const maps = "/api/v1/namespaces/team/configmaps";
    const refused = await send(
      "alice",
      "POST",
      maps,
      providerMap({ "a.json": '{"providers": canary-9}' }),
    );
    expect(refused.status).toBe(422);
    expect(refused.message).toContain('data["a.json"]: it is not JSON at line 1');
    expect(refused.message).not.toContain("canary-9");
    const execConfig = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "/plugins/secretreader",
    };
    const text = JSON.stringify({ providers: [{ name: "secretreader", execConfig }] });
    expect((await send("alice", "POST", maps, providerMap({ "a.json": text }))).status).toBe(201);
    expect((await send("alice", "DELETE", `${maps}/providers`)).status).toBe(200);
  });

  test("what stands at the edge of what is allowed, a cluster takes", async () => {
    const { admin } = fleet().hub;
    const created = await send(
      "alice",
      "POST",
      `${components}?dryRun=All`,
      serving("edge", edgeSpec),
    );
    expect(created).toMatchObject({ status: 201 });
    const releases = await openReleases(sampleDirOf());
    const component = componentOf({
      metadata: { namespace: team, name: "edge" },
      spec: edgeSpec,
    });
    const { manifests } = await render(component, releases, { environment: {} });
    const plurals: Readonly<Record<string, string>> = {
      Deployment: "apis/apps/v1/namespaces/team/deployments",
      PodDisruptionBudget: "apis/policy/v1/namespaces/team/poddisruptionbudgets",
      HorizontalPodAutoscaler: "apis/autoscaling/v2/namespaces/team/horizontalpodautoscalers",
      Service: "api/v1/namespaces/team/services",
    };
    const tried = manifests.filter(({ kind }) => plurals[kind] !== undefined);
    expect(tried.length).toBeGreaterThan(15);
    for (const manifest of tried) {
      const { metadata } = manifest;
      // The namespace of the component, whatever it is.
      const body = { ...manifest, metadata: { ...metadata, namespace: team } };
      await admin.request("POST", `/${plurals[manifest.kind]}?dryRun=All`, body);
    }
  });

  test("T-73 a component can be deleted by who may not use its cluster", async () => {
    expect((await send("mallory", "DELETE", `${components}/one`)).status).toBe(200);
  });
});
