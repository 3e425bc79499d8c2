import { isRecord } from "../../../../api/fields.ts";
import { revisionAnnotations } from "../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { recordedBinding } from "../controller-binding.ts";
import { component } from "../fleet-facts.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { reviews } from "../reviews.ts";
import { awaitingSet, completedRevision } from "../set-facts.ts";
import { type Answer, startStubHub, type StubHub } from "../stub-hub.ts";
import { answersTables } from "../stub-tables.ts";

// Clears the screen, rings, goes back to the start of the line, hides what follows, sets a title, and turns the order of letters around.
export const hostile = "\u001b[2J\u0007\r\u009b8m\u001b]0;title\u0007\u202e\u001b[32mforged";

/** What is left of it in an output. */
export const marker = "forged";

/** Fields that say what an object is: with another text in them nothing of it would be shown. */
const structural =
  "apiVersion kind vantage group version plural path folder type id code state severity health uid resourceVersion generatedAt cliVersion from unmatched order onFailure adoption deletionPolicy policy progressDeadline phase namespaces".split(
    " ",
  );

/** Times, numbers, digests and the words of conditions, which are read and not shown. */
const exact = /^(?:\d{4}-\d\d-\d\dT.*|[\d.]+|[0-9a-f-]{32,}|True|False|Unknown|)$/;

/** A value of an API server or a bundle, with the hostile text in the middle of each text. */
export function spoiled(value: unknown, key = ""): unknown {
  if (typeof value === "string") {
    if (structural.includes(key) || exact.test(value)) return value;
    const parts = key === "cluster" ? value.split("/") : [value];
    return parts.map((part) => `${part.slice(0, 2)}${hostile}${part.slice(2)}`).join("/");
  }
  if (Array.isArray(value)) return value.map((one) => spoiled(one, key));
  // What a bundle says of a kind, such as its plural.
  if (!isRecord(value) || key === "kind") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, spoiled(one, name)]));
}

function spoiledObject(object: KubeObject): KubeObject {
  return JSON.parse(JSON.stringify(spoiled(object)));
}

/** An object that commands find by its name, and which names no other object wrongly; the rest is hostile. */
function findable(object: KubeObject): KubeObject {
  const { name, namespace } = object.metadata;
  const { spec, ...lies } = spoiledObject(object);
  const ref = isRecord(object["spec"]) ? object["spec"]["clusterProfileRef"] : undefined;
  return {
    ...lies,
    metadata: { ...lies.metadata, name, ...(namespace === undefined ? {} : { namespace }) },
    ...(isRecord(spec)
      ? { spec: { ...spec, ...(ref === undefined ? {} : { clusterProfileRef: ref }) } }
      : {}),
  };
}

/** What `rollout history` shows of a revision besides its content. */
const record = JSON.stringify([
  { what: "abort", at: "2026-11-21T03:40:00Z", user: hostile, reason: hostile },
]);

/** A set with a check that waits for an approval, on clusters of namespace `fleet`. */
function waitingSet(): KubeObject {
  const set = awaitingSet();
  const clusters = { from: "Selector", selector: { namespaces: ["fleet"] } } as const;
  const rollout = { ...set.spec.rollout, verify: { workloads: { maxNewlyBroken: 0 } } };
  return { ...set, spec: { ...set.spec, clusters, rollout } };
}

function profile(name: string, manager: string): KubeObject {
  const accessProviders = [{ name: hostile, cluster: { server: "https://eu-1.example.com" } }];
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1" },
    spec: { clusterManager: { name: manager }, displayName: hostile },
    status: {
      accessProviders,
      conditions: [{ type: "ControlPlaneHealthy", status: "True", message: hostile }],
    },
  };
}

const upstreamOperator: KubeObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    namespace: "knative-operator",
    name: `knative${hostile}-operator`,
    uid: "upstream",
    resourceVersion: "1",
  },
  spec: {
    replicas: 1,
    template: { spec: { containers: [{ name: hostile, image: hostile }] } },
  },
};

const user: KubeObject = component({ namespace: `te${hostile}am`, name: "user", cluster: "eu-1" });

/** What `rollout adopt` makes a template of. */
const configured: KubeObject = {
  ...component({ name: "configured", cluster: "hub" }),
  spec: {
    clusterProfileRef: { namespace: "fleet", name: "hub" },
    config: { network: { note: hostile } },
  },
};

const findableObjects: readonly KubeObject[] = [
  ...recordedObjects.filter(({ metadata }) => metadata.name !== "eu-1").map(findable),
  findable(waitingSet()),
  completedRevision(
    1,
    { metadata: { annotations: { note: hostile } }, spec: { version: hostile } },
    { [revisionAnnotations.record]: record },
  ),
  completedRevision(2, { spec: { version: "1.23" } }, { [revisionAnnotations.record]: record }),
  user,
  configured,
  profile("eu-1", "knfleet-register"),
  profile("hub", hostile),
  upstreamOperator,
  recordedBinding("upstream", "knative-operator"),
  {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "kube-system", uid: "hub-uid", resourceVersion: "1" },
  },
];

const groups: Answer = ({ path }) =>
  path === "/apis/multicluster.x-k8s.io"
    ? { body: { versions: [{ groupVersion: "multicluster.x-k8s.io/v1alpha1" }] } }
    : undefined;

/** A hub whose every text is hostile but those by which commands find what they are asked for. */
export async function startLyingHub(): Promise<StubHub> {
  const [tables, who] = [
    answersTables(findableObjects),
    reviews(() => true, { username: `jane${hostile}` }),
  ];
  return await startStubHub(
    findableObjects,
    (request) => groups(request) ?? tables(request) ?? who(request),
  );
}

/** A hub whose every text is hostile, also the names. */
export async function startNamelessHub(): Promise<StubHub> {
  return await startStubHub(
    recordedObjects.map(spoiledObject),
    reviews(() => true, { username: `jane${hostile}` }),
  );
}
