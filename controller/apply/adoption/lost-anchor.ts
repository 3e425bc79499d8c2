import type { Component } from "../../../api/component.ts";
import { knownResource } from "../../../api/resources.ts";
import { componentSelector } from "../../../installation/anchor.ts";
import type { Target } from "../target.ts";

const configurations = (
  ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] as const
).map((kind) => knownResource("admissionregistration.k8s.io/v1", kind));

/**
 * Deletes the webhook configurations of an installation whose anchor is gone: what they call went with it, and they would refuse the objects that are
 * installed again. Spec: anchor-guard.md 7.3.
 */
export async function dropWebhooks(
  { client }: Pick<Target, "client">,
  { metadata }: Component,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = componentSelector(metadata.uid);
  const options = { propagationPolicy: "Background" } as const;
  await Promise.all(
    configurations.map((resource) =>
      client.removeCollection({ resource, labelSelector }, options, signal),
    ),
  );
}
