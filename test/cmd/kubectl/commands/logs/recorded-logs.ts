import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { recordedBinding } from "../../controller-binding.ts";
import { component, deployment } from "../../fleet-facts.ts";
import type { Answer } from "../../stub-hub.ts";

const eventing = component({ kind: "KnativeEventing", cluster: null });
const serving = component({ cluster: "eu-1" });
const owner = { kind: "KnativeEventing", name: "knative-eventing" };

/** A hub with Eventing on itself, Serving elsewhere, knfleet's controller and the upstream operator. */
export const loggingObjects: readonly KubeObject[] = [
  eventing,
  serving,
  deployment({ name: "eventing-controller", label: "knative-eventing", owner }),
  deployment({ name: "other", label: "other", owner: null }),
  deployment({ name: "knfleet-controller", namespace: "knfleet", label: "knfleet", owner: null }),
  deployment({ name: "knative-operator", namespace: "upstream", label: "operator", owner: null }),
  recordedBinding("knfleet", "knfleet"),
  recordedBinding("upstream", "upstream"),
  pod("team-a", "eventing-controller", ["main", "queue"]),
  pod("team-a", "other", ["main"]),
  pod("knfleet", "knfleet-controller", ["controller"]),
  pod("upstream", "knative-operator", ["operator"]),
];

function pod(namespace: string, owning: string, containers: readonly string[]): KubeObject {
  const name = `${owning}-7c9f-x1`;
  const replicaSet = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: `${owning}-7c9f`,
    uid: "r",
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name,
      uid: `uid-${name}`,
      resourceVersion: "1",
      labels: { "pod-template-hash": "7c9f" },
      ownerReferences: [replicaSet],
    },
    spec: { containers: containers.map((container) => ({ name: container })) },
  };
}

function own(time: string, key: string, msg: string): string {
  return `2026-11-21T11:${time}Z ${JSON.stringify({ level: "info", component: key, msg })}`;
}

const zap = {
  "knative.dev/key": "team-a/knative-eventing",
  "knative.dev/kind": "operator.knative.dev.KnativeEventing",
};

/** A token that no output may show. */
export const loggedToken = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl";

const texts: Readonly<Record<string, string>> = {
  "knfleet-controller-7c9f-x1": [
    own("01:00.5", "KnativeEventing team-a/knative-eventing", "Reconciled"),
    own("02:00", "KnativeEventing team-a/knative-eventing-2", "of another one"),
    own("03:00", "KnativeServing team-a/knative-serving", "of Serving"),
    "2026-11-21T11:03:30Z Serving health and metrics",
    '2026-11-21T11:04:00Z 12:00:01.234 info  Reconciled component="KnativeEventing team-a/knative-eventing"',
  ].join("\n"),
  "knative-operator-7c9f-x1": `2026-11-21T11:01:30Z ${JSON.stringify({ ...zap, message: "Reconcile failed" })}\n2026-11-21T11:01:40Z ${JSON.stringify({ ...zap, "knative.dev/key": "b/c" })}\n`,
  "eventing-controller-7c9f-x1 main": `2026-11-21T11:01:10Z I am\u001b[2J\u001b]0;here\u0007 at ${loggedToken}\n2026-11-21T11:01:20Z \tat line 1\nno time\n`,
  "other-7c9f-x1 main": "2026-11-21T11:01:10Z not wanted\n",
};

/** Answers for logs; one container is still waiting. */
export const loggedAnswers: Answer = ({ path }) => {
  const [, name] = /\/pods\/([^/]+)\/log$/.exec(path) ?? [];
  if (name === undefined) return undefined;
  return { body: texts[name] ?? texts[`${name} main`] ?? "" };
};
