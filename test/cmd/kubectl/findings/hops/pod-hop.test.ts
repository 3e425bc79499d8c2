import { expect, test } from "vitest";

import type { KubeClient } from "../../../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { checkPods } from "../../../../../cmd/kubectl/findings/hops/pod-hop.ts";
import { unexpected } from "../../../../support/bare-client.ts";

const key = { kind: "StatefulSet", namespace: "ns", name: "request-reply" } as const;
const metadata = { namespace: "ns", name: key.name, uid: "u", resourceVersion: "1", generation: 1 };
const pulling = { reason: "ImagePullBackOff" };

/** A pod that waits for its image. */
const pod: KubeObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "ns", name: "request-reply-0", uid: "p", resourceVersion: "1" },
  status: {
    containerStatuses: [{ name: "main", image: "registry.example/a", state: { waiting: pulling } }],
  },
};

const event: KubeObject = {
  apiVersion: "v1",
  kind: "Event",
  metadata: { namespace: "ns", name: "e", uid: "e", resourceVersion: "1" },
  reason: "FailedCreate",
  message: 'pods "request-reply-0" is forbidden: exceeded quota: tight, requested: pods=1',
};

/** A cluster with one workload and these pods and Events; `asked`: what was listed. */
function clusterOf(
  kind: "StatefulSet" | "DaemonSet",
  { spec, status, pods }: { spec: object; status: object; pods: readonly KubeObject[] },
) {
  const asked: string[] = [];
  const selector = { matchLabels: { app: key.name } };
  const answers: Pick<KubeClient, "get" | "list"> = {
    get: ({ resource }) =>
      Promise.resolve(
        resource.kind === kind
          ? { apiVersion: "apps/v1", kind, metadata, spec: { selector, ...spec }, status }
          : undefined,
      ),
    list: ({ resource, labelSelector, fieldSelector }) => {
      asked.push(`${resource.plural} ${labelSelector ?? fieldSelector ?? ""}`);
      const items = resource.kind === "Pod" ? pods : [event];
      return Promise.resolve({ items, resourceVersion: "1" });
    },
  };
  const client: KubeClient = Object.assign(Object.create(null), answers);
  return { client, asked };
}

test("the pods of a StatefulSet say what they wait for", async () => {
  const counts = { observedGeneration: 1, replicas: 1 };
  const { client, asked } = clusterOf("StatefulSet", {
    spec: { replicas: 1 },
    status: counts,
    pods: [pod],
  });
  const result = await checkPods(
    [key],
    { client, kubectl: "kubectl", findWebhook: unexpected },
    AbortSignal.timeout(9_000),
  );
  expect(result.findings).toMatchObject([
    {
      code: "KNF6010",
      message:
        "StatefulSet ns/request-reply: image registry.example/a cannot be pulled (ImagePullBackOff)",
      next: ["kubectl get pods -n ns -l app=request-reply"],
    },
  ]);
  expect(asked).toEqual(["pods app=request-reply"]);
});

test.each([
  ["StatefulSet", { replicas: 1 }, { replicas: 0 }],
  ["DaemonSet", {}, { desiredNumberScheduled: 1, currentNumberScheduled: 0 }],
] as const)("the Events of a %s say why its pods are refused", async (kind, spec, counts) => {
  const status = { observedGeneration: 1, ...counts };
  const { client, asked } = clusterOf(kind, { spec, status, pods: [] });
  const waiting = [{ ...key, kind }];
  const result = await checkPods(
    waiting,
    { client, kubectl: "kubectl", findWebhook: unexpected },
    AbortSignal.timeout(9_000),
  );
  expect(result.findings).toMatchObject([
    {
      message: `${kind} ns/request-reply: quota tight is exhausted`,
      next: [`kubectl describe ${kind.toLowerCase()} request-reply -n ns`],
    },
  ]);
  expect(asked).toEqual(["events involvedObject.uid=u,reason=FailedCreate"]);
});
