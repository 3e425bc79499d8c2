import { create, gone, remove } from "../../e2e/installation.ts";
import { AdminError } from "../../fleet/admin-client.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { WebhookProcess } from "../../support/webhook-process.ts";
import {
  configurationKey,
  controllerUser,
  installWebhook,
  names,
  overwriteBundle,
  trustedOn,
} from "../../webhook/guarded-hub.ts";
import type { FaultCase, Trial } from "../trial.ts";

/** What happens to the hub's webhook, which is asked about everything that is done to a component. */
export const webhookCases: readonly FaultCase[] = [
  {
    id: "C5",
    fault: "the webhook's caBundle is emptied, and overwritten with another authority's",
    isQuick: false,
    harm: (trial) =>
      withWebhook(trial, async () => {
        const { hub } = trial.bench;
        await trial.installed();
        const { certificatePem } = createAuthority("another");
        const right = await trustedOn(hub);
        for (const wrong of ["", Buffer.from(certificatePem).toString("base64")]) {
          const startedAt = performance.now();
          await overwriteBundle(hub, wrong);
          // The API server may not have read it yet, and answer as before.
          await waitFor("the bundle to be mended", async () => (await trustedOn(hub)) === right, {
            timeoutMs: 60_000,
          });
          await asked(hub);
          const what = wrong === "" ? "emptied" : "overwritten";
          trial.figure(`${what}, and mended after`, performance.now() - startedAt, 10_000);
        }
      }),
  },
  {
    id: "C27",
    fault: "nothing reaches the webhook; a Deployment and the component are deleted meanwhile",
    isQuick: false,
    harm: (trial) =>
      withWebhook(trial, async (webhook) => {
        const { bench, target } = trial;
        const { hub, eventing } = bench;
        await trial.installed();
        // Dropped packets, as the API server sees them: connections that it has go on and say nothing.
        webhook.signal("SIGSTOP");
        await waitFor("calls to fail", async () => (await answer(hub)) === "no webhook", {
          timeoutMs: 60_000,
        });
        const other = { kind: "KnativeEventing", on: eventing.profile } as const;
        const refusal = await create(hub, other).then(String, String);
        if (!refusal.includes("components.knfleet.dev"))
          throw new Error(`The webhook is not named: ${refusal}`);
        await hub.admin.apply({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { namespace: "default", name: "nobody-asks-about-me" },
        });
        await trial.deleteDeployment();
        const key = { apiVersion: "apps/v1", kind: "Deployment", namespace: "knative-serving" };
        await waitFor(
          "the Deployment to be back",
          () => target.spoke.admin.get({ ...key, name: "activator" }),
          { timeoutMs: 60_000 },
        );
        await remove(hub, "KnativeServing");
        await gone(hub, "KnativeServing", 120_000);
        webhook.signal("SIGCONT");
        await asked(hub);
        await trial.create();
      }),
  },
];

/** Does something while a webhook answers the hub; afterwards nobody asks one any more. */
async function withWebhook(
  { bench: { hub } }: Trial,
  work: (webhook: WebhookProcess) => Promise<void>,
): Promise<void> {
  const kubeconfig = await installWebhook(hub);
  try {
    const flags = [`--controller-user=${controllerUser}`];
    await using webhook = new WebhookProcess({ kubeconfig, flags });
    await webhook.ready();
    await hub.routeService(names, await webhook.port());
    await asked(hub);
    await work(webhook);
  } finally {
    await hub.admin.remove(configurationKey);
  }
}

async function asked(hub: Cluster): Promise<void> {
  await waitFor("an answer of the webhook", async () => (await answer(hub)) === "refused", {
    timeoutMs: 60_000,
  });
}

/** What comes of a component that has no valid version. */
async function answer(hub: Cluster): Promise<"refused" | "taken" | "no webhook"> {
  const path = "/apis/operator.knative.dev/v1beta1/namespaces/default/knativeservings?dryRun=All";
  const component = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: { name: "wrong" },
    spec: { version: "one" },
  };
  try {
    await hub.admin.request("POST", path, component);
    return "taken";
  } catch (error) {
    if (!(error instanceof AdminError)) throw error;
    return error.status === 500 ? "no webhook" : "refused";
  }
}
