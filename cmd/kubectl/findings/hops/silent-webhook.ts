import { ApiError } from "../../../../access/kube/api-error.ts";
import { type ConfiguredWebhook, findWebhooks } from "../../../../access/kube/find-webhook.ts";
import type { Component } from "../../../../api/component.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { silences } from "../../../../api/sentences.ts";
import { kubectlOn, words } from "../../output/steps.ts";
import type { SpokeSession } from "../spoke-session.ts";
import type { Finding } from "./hop.ts";

/** Finds the configuration of a webhook that does not answer. Without it nothing more is told. */
export type FindWebhook = (
  webhook: string | undefined,
) => Promise<Pick<Finding, "evidence" | "next">>;

/** The webhook that a message of the controller names as the one that does not answer. */
export function webhookNamedIn(message: string): string | undefined {
  const { webhook, configured, waiting, counted } = silences;
  const named = [webhook, configured, waiting, counted].map(({ wordsIn }) => wordsIn(message)?.[0]);
  return named.find((name) => name !== undefined);
}

const nothing = { evidence: [], next: [] };

/** For a cluster that cannot be asked. */
export const findNoWebhook: FindWebhook = () => Promise.resolve(nothing);

/** Looks for webhooks on the cluster of a component. Throws the reason of the signal, and what the connection throws. */
export function webhookFinder(
  { spec }: Component,
  { client }: Pick<SpokeSession, "client">,
  signal: AbortSignal,
): FindWebhook {
  return async (webhook) => {
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
