import { describe, expect, test } from "vitest";

import type { StatusCause } from "../../../access/kube/api-error.ts";
import { refusalOf } from "../../../controller/apply/refusals.ts";

const config = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative", name: "a" };
const certificate = {
  apiVersion: "networking.internal.knative.dev/v1alpha1",
  kind: "Certificate",
  namespace: "knative",
  name: "c",
};
const gateway = { ...config, namespace: "istio-system" };
const job = { apiVersion: "batch/v1", kind: "Job", namespace: "knative", name: "migrate" };

interface Case {
  readonly what: string;
  readonly status: number;
  readonly message?: string;
  readonly causes?: readonly StatusCause[];
  readonly isStatus?: boolean;
  readonly retryAfterMs?: number;
  readonly key?: typeof config;
  readonly isOfNewKind?: boolean;
  readonly lacksRole?: boolean;
}

function verdictOn({ status, message = "", causes = [], isStatus = true, ...rest }: Case) {
  const { retryAfterMs, key = config, isOfNewKind = false, lacksRole = false } = rest;
  const error = {
    status,
    message,
    causes,
    isStatus,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return refusalOf(error, { key, isOfNewKind, lacksRole, installNamespace: "knative" });
}

const notServed = { status: 404, message: "404 page not found", isStatus: false, key: certificate };

describe("a refusal", () => {
  test.each<Case & { kind: string; says?: string }>([
    { what: "of a new kind", ...notServed, isOfNewKind: true, kind: "temporary" },
    { what: "of a kind that nobody defines", ...notServed, kind: "parked", says: "does not serve" },
    {
      what: "because something else controls the object",
      status: 422,
      causes: [
        {
          field: "metadata.ownerReferences",
          message:
            'Invalid value: […]: Only one reference can have Controller set to true. Found "true" in references for ConfigMap/boss and ConfigMap/root-owner',
        },
      ],
      kind: "invalid",
      says: "Something else controls it: ConfigMap boss",
    },
    {
      what: "for want of our namespace",
      status: 404,
      message: 'namespaces "knative" not found',
      kind: "busy",
    },
    {
      what: "for want of another namespace",
      status: 404,
      message: 'namespaces "istio-system" not found',
      key: gateway,
      kind: "parked",
      says: "istio-system",
    },
    {
      what: "for want of a role",
      status: 404,
      message: 'clusterroles.rbac.authorization.k8s.io "x" not found',
      kind: "temporary",
    },
    {
      what: "for want of a role that was given up",
      status: 404,
      message: 'clusterroles.rbac.authorization.k8s.io "x" not found',
      lacksRole: true,
      kind: "parked",
      says: "Waiting for its role",
    },
    {
      what: "because our namespace is going",
      status: 403,
      message: "unable to create new content in namespace knative because it is being terminated",
      kind: "busy",
    },
    {
      what: "for want of a right",
      status: 403,
      message:
        'configmaps "a" is forbidden: User "u" cannot create resource "configmaps" in API group "" in the namespace "knative"',
      kind: "permanent",
      says: "lacks the right to create configmaps in namespace knative",
    },
    {
      what: "for a reason of its own",
      status: 403,
      message: "no",
      kind: "permanent",
      says: "ConfigMap in namespace knative is refused with status 403",
    },
    {
      what: "by a webhook with a status of its own",
      status: 500,
      message: 'admission webhook "no.example.com" denied the request: s3cr3t',
      kind: "permanent",
      says: "the admission webhook no.example.com denies it",
    },
    {
      what: "by a named policy",
      status: 422,
      message:
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p.example.com' with binding 'b' denied request: s3cr3t",
      kind: "permanent",
      says: "the ValidatingAdmissionPolicy p.example.com denies it",
    },
    {
      what: "for want of escalate",
      status: 403,
      message: "is attempting to grant RBAC permissions not currently held",
      kind: "permanent",
      says: "bind and escalate",
    },
    {
      what: "for want of cluster-admin",
      status: 403,
      message: "must have cluster-admin privileges to use the aggregationRule",
      kind: "permanent",
      says: "bind and escalate",
    },
    {
      what: "by a policy",
      status: 403,
      message: "denied",
      causes: [{ message: "ValidatingAdmissionPolicy 'x'" }],
      kind: "permanent",
      says: "policy",
    },
    {
      what: "for want of quota",
      status: 403,
      message: 'configmaps "a" is forbidden: exceeded quota: q, requested: count/configmaps=1',
      kind: "permanent",
      says: "the quota q is exhausted",
    },
    {
      what: "for a quota that is not counted yet",
      status: 403,
      message: 'configmaps "a" is forbidden: status unknown for quota: q, resources: configmaps',
      kind: "temporary",
      says: "has still to count the quota q",
    },
    {
      what: "of a changed Job",
      status: 422,
      causes: [{ field: "spec.template" }],
      key: job,
      kind: "invalid",
      says: "cannot be changed, only be deleted and made anew: spec.template",
    },
    {
      what: "of a field that cannot be changed",
      status: 422,
      causes: [{ field: "roleRef", message: "Invalid value: {}: cannot change roleRef" }],
      kind: "invalid",
      says: "cannot be changed, only be deleted and made anew: roleRef",
    },
    {
      what: "of a template that is no Job's",
      status: 422,
      causes: [{ field: "spec.template" }],
      kind: "invalid",
      says: "Invalid: spec.template",
    },
    {
      what: "by a dead webhook",
      status: 500,
      message:
        'Internal error occurred: failed calling webhook "webhook.serving.knative.dev": Post "https://10.0.0.3:443/?timeout=10s": dial tcp: connection refused',
      kind: "parked",
      says: "webhook.serving.knative.dev",
    },
    {
      what: "by a dead conversion webhook",
      status: 500,
      message: "conversion webhook for eventing.knative.dev/v1beta1, Kind=EventType failed",
      kind: "parked",
    },
    {
      what: "of a body that cannot be merged",
      status: 500,
      message:
        "failed to create typed patch object (knative/a; /v1, Kind=ConfigMap): .dta: field not declared in schema",
      kind: "permanent",
    },
    {
      what: "by a broken server",
      status: 500,
      message: "etcdserver: request timed out",
      kind: "temporary",
    },
    ...[
      "etcdserver: request is too large",
      "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2523456 vs. 2097152)",
    ].map((message) => ({
      what: "of what etcd does not take",
      status: 500,
      message,
      kind: "permanent",
      says: "It is larger than the cluster can store",
    })),
    {
      what: "of a ConfigMap that is too large",
      status: 422,
      message: 'ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes',
      kind: "invalid",
      says: "It is larger than the cluster can store",
    },
    { what: "of a write at the same time", status: 409, kind: "temporary" },
    {
      what: "by a busy server",
      status: 429,
      retryAfterMs: 3_000,
      isStatus: false,
      kind: "temporary",
    },
    { what: "by a server that starts", status: 503, kind: "temporary" },
    { what: "of a malformed body", status: 400, kind: "permanent", says: "400" },
    { what: "of a body that is too large", status: 413, kind: "permanent", says: "413" },
  ])("$what ($status) is $kind", ({ kind, says = "", ...error }) => {
    const refusal = verdictOn(error);
    expect(refusal.kind).toBe(kind);
    expect(refusal.message).toContain(says);
  });

  test("that names a time to wait keeps it", () => {
    expect(verdictOn({ what: "", status: 429, retryAfterMs: 3_000 })).toMatchObject({
      retryAfterMs: 3_000,
    });
  });

  test("never quotes the server, and names at most three plain fields, sorted", () => {
    const secret = "s3cr3t";
    const causes = ["spec.d", "spec.b", "spec.a", "spec.c", "spec.b", `<b>${secret}</b>`].map(
      (field) => ({ field, message: secret }),
    );
    const refusals = [400, 403, 404, 409, 422, 500, 503].map((status) =>
      verdictOn({ what: "", status, message: `failed ${secret} at 10.0.0.1`, causes }),
    );
    expect(JSON.stringify(refusals)).not.toContain(secret);
    expect(refusals[4]?.message).toBe("Invalid: spec.a, spec.b, spec.c");
  });
});
