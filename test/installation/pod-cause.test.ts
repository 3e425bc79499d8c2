import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../api/kubernetes.ts";
import { causeOfPods, causeOfRefusal } from "../../installation/pod-cause.ts";

function pod(status: object, { name = "a", deleting = false } = {}): KubeObject {
  const metadata = {
    name,
    namespace: "ns",
    uid: name,
    resourceVersion: "1",
    ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
  };
  return { apiVersion: "v1", kind: "Pod", metadata, status };
}

function waiting(reason: string, more: object = {}): object {
  const image = "registry.example/controller:v1";
  const container = { name: "controller", image, ready: false, restartCount: 0 };
  return { containerStatuses: [{ ...container, state: { waiting: { reason } }, ...more }] };
}

const ready = { conditions: [{ type: "Ready", status: "True" }] };

describe("why pods are not ready", () => {
  test.each([
    [
      waiting("ImagePullBackOff"),
      "image registry.example/controller:v1 cannot be pulled (ImagePullBackOff)",
    ],
    [
      waiting("ErrImagePull"),
      "image registry.example/controller:v1 cannot be pulled (ImagePullBackOff)",
    ],
    [
      waiting("InvalidImageName"),
      "image registry.example/controller:v1 cannot be pulled (InvalidImageName)",
    ],
    [
      waiting("CreateContainerConfigError"),
      "container controller cannot start (CreateContainerConfigError)",
    ],
    [
      waiting("CrashLoopBackOff", { lastState: { terminated: { exitCode: 3, reason: "Error" } } }),
      "container controller crashes (CrashLoopBackOff, exit code 3)",
    ],
    [
      waiting("", { restartCount: 4, state: { running: {} } }),
      "container controller crashes (CrashLoopBackOff)",
    ],
    [
      waiting("CrashLoopBackOff", {
        lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } },
      }),
      "container controller crashes (OOMKilled)",
    ],
    [
      {
        initContainerStatuses: [
          { name: "init", state: { waiting: { reason: "RunContainerError" } } },
        ],
      },
      "container init cannot start (RunContainerError)",
    ],
    [
      {
        conditions: [
          {
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: "0/3 nodes are available: 1 Insufficient memory, 2 Insufficient cpu.",
          },
        ],
      },
      "no node takes its pods (Unschedulable, insufficient cpu, memory)",
    ],
    [
      { phase: "Running", ...waiting("", { state: { running: {} } }) },
      "its pods run but are not ready",
    ],
    [{ phase: "Pending", ...waiting("ContainerCreating") }, undefined],
    [{}, undefined],
  ])("%j: %s", (status, cause) => {
    expect(causeOfPods([pod(status)])).toBe(cause);
  });

  test("is asked of pods that are neither ready nor going", () => {
    const failing = waiting("ImagePullBackOff");
    expect(causeOfPods([pod({ ...failing, ...ready }), pod(failing, { deleting: true })])).toBe(
      undefined,
    );
  });

  test("does not depend on the order of the pods", () => {
    const pods = [
      pod({ phase: "Pending" }, { name: "c" }),
      pod(waiting("ErrImagePull"), { name: "b" }),
      pod(waiting("CreateContainerError"), { name: "a" }),
    ];
    expect(causeOfPods(pods)).toBe("container controller cannot start (CreateContainerError)");
    expect(causeOfPods(pods.toReversed())).toBe(causeOfPods(pods));
  });

  test("brings no control character of a cluster to a terminal", () => {
    const image = "a\u001b[31m";
    expect(causeOfPods([pod(waiting("ErrImagePull", { image }))])).toContain("image a?[31m cannot");
  });
});

describe("why no pod is created", () => {
  test.each([
    [
      'pods "a-1-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3',
      "quota small is exhausted",
    ],
    [
      'pods "a-1-x" is forbidden: failed quota: q: must specify limits.cpu for: c; limits.memory for: c',
      "quota q asks for requests or limits that its pods lack",
    ],
    [
      'pods "a-1-x" is forbidden: status unknown for quota: q, resources: pods',
      "quota q is not counted yet",
    ],
    [
      'pods "a-1-" is forbidden: unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount]',
      "no SecurityContextConstraint allows its pods",
    ],
    [
      'pods "a-1-x" is forbidden: no PriorityClass with name high was found',
      "PriorityClass high is missing",
    ],
    [
      "Error creating: policy 'p' with binding 'b' denied request: no",
      "admission policy p refuses its pods",
    ],
    [
      'admission webhook "images.policy.example" denied the request: not signed',
      "admission webhook images.policy.example refuses its pods",
    ],
    [
      'Internal error occurred: failed calling webhook "a.b.c": Post "https://x": timeout',
      "admission webhook a.b.c does not answer, so that no pod can be created",
    ],
    [
      'pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
      "PodSecurity restricted:latest forbids its pods",
    ],
    [
      "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'only-ours' with binding 'b' denied request: no",
      "admission policy only-ours refuses its pods",
    ],
    [
      'pods "a" is forbidden: error looking up service account ns/b: serviceaccount "b" not found',
      "service account b is missing",
    ],
    [
      'pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
      "a LimitRange forbids its pods",
    ],
    ["something else", "its pods cannot be created (FailedCreate)"],
  ])("%s: %s", (message, cause) => {
    expect(causeOfRefusal(message)).toBe(cause);
  });
});
