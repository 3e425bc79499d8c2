import { componentReview } from "../../../../webhook/reviews/component-review.ts";
import { factsOf, linesOf, written } from "../../component-stage.ts";

const review = componentReview({
  facts: factsOf({}),
  accessReviews: { may: async (_user, { verb }) => verb !== "apply-cluster-scoped" },
  manifestRight: true,
});

/** What the webhook tells an author who lacks the right `apply-cluster-scoped`, on a hub that asks for it. */
export async function linesFor(
  spec: object,
  changes: Parameters<typeof written>[1] = {},
): Promise<readonly string[]> {
  return linesOf(await review(written(spec, changes), AbortSignal.timeout(30_000)));
}

/** What of each patch needs the right. */
export async function refusals(...patches: readonly object[]): Promise<readonly string[]> {
  const start =
    /^403 spec\.patches\[\d+\]: user .* may not "apply-cluster-scoped", which a patch of /;
  return (await linesFor({ patches })).map((line) => line.replace(start, ""));
}

/** An entry of `spec.patches`, of the Deployment `controller` unless it says otherwise. */
export function patch(type: string, content: unknown, target: object = deployment): object {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return { target, patch: { type, content: text } };
}

const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "controller" };

/** A Deployment with these fields of its pods. */
export function inPod(spec: object): object {
  return { spec: { template: { spec } } };
}

/** A Deployment with these fields of its container. */
export function inContainer(fields: object, list = "containers"): object {
  return inPod({ [list]: [{ name: "controller", ...fields }] });
}

/** The pointer to the pods of a Deployment. */
export const pod = "/spec/template/spec";
