import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { serving } from "./components.ts";
import { spokeAccepts } from "./spoke-answer.ts";
import { awaitComponent, type Stage } from "./stage.ts";
import { until } from "./until.ts";

const namespace = serving.key.namespace;
const account = "serviceaccount knfleet-hub -n knfleet";
const change = { spec: { config: { network: { "http-protocol": "Redirected" } } } };

/** The fault: the spoke stops accepting the hub's token. Shows what the command line and the conditions say. */
export async function revokeCredential(stage: Stage): Promise<void> {
  const { narrator, shell, profile, signal } = stage;
  await shell.show(`kubectl --context ${serving.spoke} delete ${account}`);
  {
    using progress = narrator.progress();
    progress.update(
      `waiting until ${serving.spoke} answers 401; it remembers tokens for ten seconds`,
    );
    await until(async () => ((await spokeAccepts(profile, signal)) ? undefined : true), {
      what: `${serving.spoke} to refuse the token`,
      timeoutMs: 60_000,
      signal,
    });
  }
  narrator.say("The command line asks the spoke itself and knows at once:");
  await shell.show("kubectl knfleet status -A", [0, 1, 3]);
  narrator.say(
    "A steady spoke is sent nothing, so the controller meets the fault at its next request. A change of the component makes it send one:",
  );
  const patch = ["--type", "merge", "-p", JSON.stringify(change)];
  await shell.show([..."kubectl patch".split(" "), serving.argument, "-n", namespace, ...patch]);
  await awaitComponent(stage, serving, {
    what: "the component to report the refused credential",
    timeoutMs: 60_000,
    holds: (object) => conditionOf(object, "TargetClusterResolved")?.status === "False",
  });
  narrator.say("Now the hub says so too: which condition, why, and what to look at.");
  await shell.show([
    ...`kubectl get ${serving.argument} -n ${namespace}`.split(" "),
    "-o",
    String.raw`jsonpath={range .status.conditions[?(@.status=="False")]}{.type}: {.reason}{"\n  "}{.message}{"\n"}{end}`,
  ]);
  const events = `kubectl get events -n ${namespace} --field-selector type=Warning`;
  // An Event is written a moment after the condition.
  await until(
    async () => ((await shell.quiet(`${events} -o name`)).stdout === "" ? undefined : true),
    {
      what: "a Warning event of the component",
      timeoutMs: 60_000,
      signal,
    },
  );
  await shell.show(events);
  await shell.show("kubectl knfleet status -A", [0, 1, 3]);
}

/** Mends it: a new account with a new token. The pending change arrives by itself. */
export async function mendCredential(stage: Stage): Promise<void> {
  const { narrator, shell, profile } = stage;
  const { secret } = profile;
  await shell.show(`kubectl --context ${serving.spoke} create ${account}`);
  narrator.say(
    `A new token of it goes into Secret ${secret.namespace}/${secret.name} on the hub, where the exec plugin reads it. (kubectl create token, kubectl apply; not shown, because it is a secret.)`,
  );
  await profile.renew();
  const object = await awaitComponent(stage, serving, {
    what: "the component to recover",
    timeoutMs: 150_000,
    holds: (component) =>
      conditionOf(component, "Ready")?.status === "True" &&
      valueAt(component, "status", "observedGeneration") === component.metadata.generation,
  });
  narrator.say(
    `Nobody told the controller: it tried again and got through. The change of generation ${object.metadata.generation ?? 0} has arrived on the spoke:`,
  );
  await shell.show([
    ...`kubectl --context ${serving.spoke} get configmap config-network`.split(" "),
    "-n",
    namespace,
    "-o",
    String.raw`jsonpath={.data.http-protocol}{"\n"}`,
  ]);
  await mustHaveArrived(stage);
  await shell.show("kubectl knfleet status -A");
}

async function mustHaveArrived(stage: Stage): Promise<void> {
  const find = async (): Promise<true | undefined> => {
    const name = "config-network";
    const { admin } = stage.fleet.spoke(serving.spoke);
    const map = await admin.get({ apiVersion: "v1", kind: "ConfigMap", namespace, name });
    return valueAt(map, "data", "http-protocol") === "Redirected" ? true : undefined;
  };
  const what = "the pending change to arrive on the spoke";
  await until(find, { what, timeoutMs: 60_000, signal: stage.signal });
}
