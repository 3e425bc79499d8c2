import { ApiError } from "../../../../../access/kube/api-error.ts";
import { type ConfiguredWebhook, findWebhooks } from "../../../../../access/kube/find-webhook.ts";
import type { Component } from "../../../../../api/component.ts";
import { describe } from "../../../../../api/kubernetes.ts";
import { kubectlOn, words } from "../../../output/steps.ts";
import type { SpokeSession } from "../spoke-session.ts";
import type { Finding } from "./hop.ts";

/** Finds the webhook that a message of the controller names as the one that does not answer. Without it nothing more is told. */
export type FindWebhook = (message: string) => Promise<Pick<Finding, "evidence" | "next">>;

const nothing = { evidence: [], next: [] };

/** For a cluster that cannot be asked. */
export const findNoWebhook: FindWebhook = () => Promise.resolve(nothing);

/** Looks for webhooks on the cluster of a component. Throws the reason of the signal, and what the connection throws. */
export function webhookFinder(
  { spec }: Component,
  { client }: Pick<SpokeSession, "client">,
  signal: AbortSignal,
): FindWebhook {
  return async (message) => {
    const [, webhook] = /\bwebhook ([\w.-]+)/.exec(message) ?? [];
    if (webhook === undefined) return nothing;
    try {
      const found = (await findWebhooks([webhook], client, signal)).get(webhook);
      if (found === undefined) {
        return { evidence: [`No configuration has the webhook ${webhook} any more`], next: [] };
      }
      return {
        evidence: [evidenceOf(webhook, found)],
        next: stepsOf(found, kubectlOn(spec?.clusterProfileRef)),
      };
    } catch (error) {
      if (error instanceof ApiError) return nothing;
      throw error;
    }
  };
}

function evidenceOf(webhook: string, found: ConfiguredWebhook): string {
  const { service } = found;
  const by =
    service === undefined
      ? "a server outside of the cluster"
      : describe({ kind: "Service", ...service });
  return `${webhook} is of ${describe(found)}, and ${by} answers for it`;
}

function stepsOf({ kind, name, service }: ConfiguredWebhook, kubectl: string): readonly string[] {
  const see = `${kubectl} ${words("get", kind.toLowerCase(), name, "-o", "yaml")}`;
  if (service === undefined) return [see];
  const { namespace, name: serviceName } = service;
  return [see, `${kubectl} ${words("describe", "service", serviceName, "-n", namespace)}`];
}
