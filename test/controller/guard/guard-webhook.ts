import { connectHub } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { guardTargets, matchConditionOf } from "../../../controller/guard/policy.ts";
import type { GuardOwner } from "../../../installation/guard/guard-view.ts";
import { createAccessReviews } from "../../../webhook/reviews/access-review.ts";
import { anchorReview } from "../../../webhook/reviews/anchor-review.ts";
import type { Cluster } from "../../fleet/cluster.ts";
import { serve } from "../../webhook/serving.ts";

const guards = ["anchor-guard", "namespace-guard", "crd-guard"] as const;

/** The webhook serves the guard's rules on loopback, and the cluster asks it. */
export async function startGuardWebhook(
  cluster: Cluster,
  owners: readonly GuardOwner[],
): Promise<AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const kubeconfig = cluster.adminKubeconfigPath;
  const { client } = opened.use(
    await connectHub({
      clock: systemClock,
      kubeconfig,
      environment: {},
      userAgent: "knfleet-webhook",
    }),
  );
  const accessReviews = createAccessReviews(client, systemClock);
  // An entry for each user, as the flag says it.
  const entries = owners.flatMap(({ hubId, hubUsers }) =>
    hubUsers.map((user) => ({ hubId, hubUsers: [user] })),
  );
  const review = anchorReview({ client, accessReviews, owners: entries });
  const serving = opened.use(await serve(review));
  await cluster.admin.apply({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "anchor-guard" },
    webhooks: owners.flatMap(({ hubId }) =>
      guards.map((guard) => ({
        name: `${guard}.${hubId}.knfleet.dev`,
        clientConfig: {
          url: `https://127.0.0.1:${serving.server.port}/validate`,
          caBundle: Buffer.from(serving.authority.certificatePem).toString("base64"),
        },
        rules: [guardTargets[guard]],
        matchConditions: [matchConditionOf(guard, hubId)],
        matchPolicy: "Equivalent",
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 5,
      })),
    ),
  });
  const running = opened.move();
  return { [Symbol.asyncDispose]: () => running.disposeAsync() };
}
