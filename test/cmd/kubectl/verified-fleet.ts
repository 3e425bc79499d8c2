import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { operatorApiVersion } from "../../../api/component.ts";
import { managedClusterAnnotation } from "../../../api/delivery.ts";
import {
  type CheckSpec,
  type FleetSet,
  setAnnotations,
  setLabels,
} from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { sampleSet } from "./commands/rollout/sample-set.ts";
import { binding, configMap, fileOf } from "./hub-file.ts";
import { type Answer, startStubHub, type StubHub } from "./stub-hub.ts";
import { secret } from "./stub-spoke.ts";
import { answersTriggers, trigger } from "./user-triggers.ts";

const service = {
  namespace: "monitoring",
  name: "prometheus",
  port: 9090,
  scheme: "http",
} as const;
const workloads = { maxNewlyBroken: 0, within: "3m" };
const errorRate = {
  name: "error-rate",
  noData: "Fail",
  prometheus: { service, query: "errors", max: 0.01 },
} as const;
const canary = { name: "canary", selector: { matchLabels: { ring: "0" } } };

/** KnativeServingSet platform/prod: all clusters are verified by their workloads, and those of stage canary also by checks. */
function verifiedSet(checks: readonly CheckSpec[]): FleetSet {
  const stages = [
    { ...canary, verify: { workloads, checks } },
    { name: "rest", selector: {} },
  ];
  const { rollout } = sampleSet().spec;
  if (rollout === undefined) throw new Error("The sample has stages");
  return sampleSet({
    spec: { rollout: { ...rollout, stages, order: "Name", verify: { workloads } } },
  });
}

/** A Prometheus that answers every query with one number. */
const answersPrometheus =
  (number: string): Answer =>
  ({ path }) =>
    path.includes("/services/http%3Aprometheus%3A9090/proxy/")
      ? {
          body: {
            status: "success",
            data: { resultType: "vector", result: [{ value: [0, number] }] },
          },
        }
      : undefined;

const beforeStamp = "2026-11-21T09:59:00Z";
const stampedAt = "2026-11-21T10:00:00Z";
const afterStamp = "2026-11-21T10:05:00Z";

/** Triggers of which one broke before the stamp and one after it. */
const answersBroken = answersTriggers([
  trigger("orders", "True", beforeStamp),
  trigger("bills", "False", beforeStamp),
  trigger("mails", "False", afterStamp),
]);

function profile(name: string, ring: string, server?: string): KubeObject {
  const extensions = [
    { name: "client.authentication.k8s.io/exec", extension: { clusterName: name } },
  ];
  const providers =
    server === undefined ? [] : [{ name: "secretreader", cluster: { server, extensions } }];
  return {
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1", labels: { ring } },
    spec: { displayName: name, clusterManager: { name: "test" } },
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status: "True" }],
      accessProviders: providers,
    },
  };
}

function component(cluster: string, annotations: Readonly<Record<string, string>>): KubeObject {
  const name = `prod-fleet-${cluster}`;
  return {
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: {
      namespace: "platform",
      name,
      uid: name,
      resourceVersion: "1",
      generation: 1,
      labels: {
        [setLabels.set]: "prod",
        [setLabels.kind]: "KnativeServingSet",
        [setLabels.revision]: "prod-0",
      },
      annotations: {
        [setAnnotations.setUid]: "set-uid",
        [setAnnotations.component]: name,
        ...annotations,
      },
    },
    spec: { version: "1.23", clusterProfileRef: { namespace: "fleet", name: cluster } },
    status: {
      observedGeneration: 1,
      version: "1.23.0",
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: stampedAt }],
    },
  };
}

export interface VerifiedFleet extends AsyncDisposable {
  readonly hub: StubHub;
  readonly clusters: readonly StubHub[];
}

/**
 * The hub of the set with five clusters: `bad` of stage canary, where a Trigger broke since the stamp and errors are too many; of stage rest `mute`, whose Triggers may not be listed,
 * `new`, which is like `bad` and has no component, `pulled`, which nobody can dial, and `held`, which no set may change. `prometheus`: its answers, else that 0.25 of the requests fail.
 * `checks`: those of stage canary, else one that asks it.
 */
export async function startVerifiedFleet(
  prometheus = answersPrometheus("0.25"),
  checks: readonly CheckSpec[] = [errorRate],
): Promise<VerifiedFleet> {
  await using stack = new AsyncDisposableStack();
  const broken = stack.use(
    await startStubHub([], (request) => prometheus(request) ?? answersBroken(request)),
  );
  const mute = stack.use(await startStubHub([], answersTriggers(undefined)));
  const held = profile("held", "1", broken.url);
  const labels = { ...held.metadata.labels, "knfleet.dev/hold": "true" };
  const stamped = { [setAnnotations.updatedAt]: stampedAt };
  const objects = [
    verifiedSet(checks),
    profile("bad", "0", broken.url),
    profile("mute", "1", mute.url),
    profile("new", "1", broken.url),
    profile("pulled", "1"),
    { ...held, metadata: { ...held.metadata, labels } },
    component("bad", stamped),
    component("mute", stamped),
    component("pulled", { ...stamped, [managedClusterAnnotation]: "pulled" }),
    binding,
    configMap({
      data: {
        "config.json": fileOf({ name: "secretreader", command: "builtin:secretreader" }),
      },
    }),
    ...["bad", "mute", "new", "held"].map((name) =>
      secret("knfleet-system", name, { token: `token-${name}` }),
    ),
  ];
  const hub = stack.use(await startStubHub(objects));
  const resources = stack.move();
  return {
    hub,
    clusters: [broken, mute],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
