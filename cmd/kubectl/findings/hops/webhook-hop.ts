import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { listAt, recordAt, textAt } from "../../../../api/fields.ts";
import { knownResource } from "../../../../api/resources.ts";
import { words } from "../../output/steps.ts";
import { ifDenied } from "../../spokes/spoke-reading.ts";
import { finding, type Finding, type HopResult, passed, passedWith, skipped } from "./hop.ts";

const group = "operator.knative.dev";
const kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] as const;

type Fields = Readonly<Record<string, unknown>>;

interface Hook {
  readonly configuration: string;
  readonly plural: string;
  readonly name: string;
  readonly ignoresFailure: boolean;
  readonly client: Fields;
}

/** Checks that the hub can call the webhooks for components, if there are any. */
export async function checkWebhooks(
  hub: KubeClient,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  const hooks = await listHooks(hub, signal).catch(ifDenied);
  if (hooks === undefined) return skipped("webhook configurations may not be listed");
  if (hooks.length === 0) return passed(true, "none is configured");
  const findings = await Promise.all(hooks.map((hook) => findProblem(hook, hub, signal)));
  return passedWith(true, hooks.map(({ name }) => name).join(", "), {
    findings: findings.filter((one) => one !== undefined),
  });
}

async function listHooks(hub: KubeClient, signal: AbortSignal): Promise<readonly Hook[]> {
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const resource = knownResource("admissionregistration.k8s.io/v1", kind);
      const { items } = await hub.list({ resource }, {}, signal);
      return items.flatMap((item) =>
        listAt(item, "webhooks")
          .map((webhook) => recordAt(webhook))
          .filter(isForComponents)
          .map((hook) => ({
            configuration: item.metadata.name,
            plural: resource.plural,
            name: textAt(hook, "name") ?? "",
            ignoresFailure: textAt(hook, "failurePolicy") === "Ignore",
            client: recordAt(hook, "clientConfig"),
          })),
      );
    }),
  );
  return lists.flat();
}

function isForComponents(hook: Fields): boolean {
  return listAt(hook, "rules").some((rule) => listAt(recordAt(rule), "apiGroups").includes(group));
}

async function findProblem(
  { configuration, plural, name, ignoresFailure, client }: Hook,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  const problem = await problemOfClient(client, hub, signal).catch(ifDenied);
  if (problem === undefined) return undefined;
  return finding(ignoresFailure ? "warning" : "error", "KNF1008", {
    message: `Webhook ${name}: ${problem}`,
    evidence: [
      `failurePolicy ${ignoresFailure ? "Ignore" : "Fail: changes of components are refused"}`,
    ],
    next: [words("kubectl", "get", plural, configuration, "-o", "yaml")],
  });
}

async function problemOfClient(
  client: Fields,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<string | undefined> {
  if ((textAt(client, "caBundle") ?? "") === "") return "it has no caBundle";
  const service = recordAt(client, "service");
  const namespace = textAt(service, "namespace") ?? "";
  const name = textAt(service, "name") ?? "";
  if (name === "") return undefined;
  const ref = { resource: knownResource("v1", "Service"), namespace, name };
  if ((await hub.get(ref, {}, signal)) === undefined) {
    return `Service ${namespace}/${name} does not exist`;
  }
  const ready = await countReadyEndpoints({ namespace, name }, hub, signal);
  return ready === 0 ? `Service ${namespace}/${name} has no ready endpoint` : undefined;
}

async function countReadyEndpoints(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  hub: KubeClient,
  signal: AbortSignal,
): Promise<number> {
  const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`);
  const path = `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices?labelSelector=${selector}`;
  const slices = listAt(recordAt(await hub.request("GET", path, undefined, signal)), "items");
  return slices
    .flatMap((slice) => listAt(recordAt(slice), "endpoints"))
    .filter((endpoint) => recordAt(endpoint, "conditions")["ready"] !== false).length;
}
