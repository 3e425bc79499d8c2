import { expect, test } from "vitest";

import { systemClock } from "../../../access/time/system-clock.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { authority, stub } from "../../access/loopback.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf, serviceOf, workload } from "./small-set.ts";

const fleet = useSpokes([{ kwok: false, admissionWebhooks: true }]);
const namespace = "hanging";

interface Hanging {
  readonly object: string;
  readonly operation: "CREATE" | "DELETE";
  readonly failurePolicy?: "Fail" | "Ignore";
  readonly timeoutSeconds?: number;
}

/** Webhooks that take what they are asked and never answer, each for one ConfigMap. */
async function hangingWebhooks(...hanging: readonly Hanging[]): Promise<Manifest> {
  const { server } = await stub(() => ({ hang: true }), { http1: true });
  const clientConfig = {
    url: `${server}/validate`,
    caBundle: Buffer.from(authority.certificatePem).toString("base64"),
  };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "never-answers" },
    webhooks: hanging.map(({ object, operation, ...limits }) => ({
      name: `${object}.hangs.test`,
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Fail",
      ...limits,
      clientConfig,
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      matchConditions: [
        {
          name: "one-object",
          expression: `(object == null ? oldObject : object).metadata.name == '${object}'`,
        },
      ],
      rules: [
        {
          apiGroups: [""],
          apiVersions: ["v1"],
          operations: [operation],
          resources: ["configmaps"],
        },
      ],
    })),
  };
}

// More than 15 s: the API server waits for a webhook as long as that says, 30 s at most; no clock of ours shortens that.
test("a webhook that hangs holds up what it covers, by its name, and nothing else: no install, no pruning, no removal loses the cluster", async () => {
  const spoke = fleet().spoke(0);
  const { admin } = spoke;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
  const { installer } = opened;
  const [held, late, obsolete] = ["held", "late", "obsolete"].map((name) =>
    manifestOf(`v1 ConfigMap ${namespace}/${name}`, { data: { a: "1" } }),
  );
  if (held === undefined || late === undefined || obsolete === undefined) throw new Error("Bug");
  const rest = [workload(namespace), serviceOf(namespace)];
  await installer.install({ rendered: renderedOf(obsolete) });
  const webhooks = await hangingWebhooks(
    { object: "held", operation: "CREATE", timeoutSeconds: 30 },
    { object: "late", operation: "CREATE", timeoutSeconds: 30, failurePolicy: "Ignore" },
    { object: "obsolete", operation: "DELETE", timeoutSeconds: 2 },
    { object: "probe", operation: "CREATE", timeoutSeconds: 1 },
  );
  await admin.create(webhooks);
  const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "probe" } };
  const isInForce = async (): Promise<boolean> =>
    admin.request("POST", path, body).then(
      () => false,
      () => true,
    );
  await waitFor("the webhooks to be in force", isInForce);

  const rendered = renderedOf(held, late, obsolete, ...rest);
  const stop = new AbortController();
  const reason = new Error("Stopped");
  let stoppedAt = 0;
  const stopped = installer.install({
    rendered,
    signal: stop.signal,
    onProgress: ({ done, waiting: [first, ...others] }) => {
      const isTold = first?.message === "Waiting for the answer of the API server";
      if (done < 3 || !isTold || first.count < 2 || others.length > 0) return;
      stoppedAt = performance.now();
      stop.abort(reason);
    },
  });
  await expect(stopped).rejects.toBe(reason);
  // The webhook would take 30 s.
  expect(performance.now() - stoppedAt).toBeLessThan(15_000);

  const installed = await installer.install({ rendered });
  const of = "of ValidatingWebhookConfiguration never-answers";
  const message = `Waiting for webhook held.hangs.test ${of}`;
  expect(installed).toMatchObject({ failed: [], parked: [{ key: keyOf(held), message }] });
  expect(await admin.get(keyOf(late))).toBeDefined();

  const pruning = await installer.install({ rendered: renderedOf(late, ...rest) });
  expect(pruning).toMatchObject({
    parked: [],
    failed: [],
    lingering: [
      {
        key: keyOf(obsolete),
        message: `Obsolete, but its deletion is refused for now with status 500: the webhook obsolete.hangs.test ${of} does not answer`,
      },
    ],
  });

  const { component, target } = installer;
  const removal = (): Promise<unknown> =>
    finalize(
      { component, target },
      { clock: systemClock, log: silentLog },
      AbortSignal.timeout(120_000),
    );
  await expect(removal()).rejects.toMatchObject({
    reason: "ClusterBusy",
    message: `Waiting for the deletion of ConfigMap ${namespace}/obsolete: the webhook obsolete.hangs.test does not answer`,
  });
  await admin.remove(keyOf(webhooks));
  await waitFor("the removal to end", () =>
    removal().then(
      () => true,
      () => false,
    ),
  );
}, 300_000);
