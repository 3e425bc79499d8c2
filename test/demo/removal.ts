import { anchorNameOf, componentUidLabel } from "../../api/anchor.ts";
import { eventing } from "./components.ts";
import { componentOf, type Stage } from "./stage.ts";

const { key, spoke, argument } = eventing;
const namespace = key.namespace;
const clusterWide =
  "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations";
const ours = "--selector app.kubernetes.io/name=knative-eventing";

/** Removes Eventing and shows that the spoke is clean: nothing of any kind is left but CRDs and the namespace. */
export async function removeEventing(stage: Stage): Promise<void> {
  const { narrator, shell } = stage;
  const uid = (await componentOf(stage, eventing))?.metadata.uid ?? "";
  const before = await countObjects(stage, uid);
  narrator.say(
    `${before.objects} objects of ${before.kinds} kinds on ${spoke} belong to Eventing.`,
  );
  if (before.objects === 0) throw new Error("There should be something to remove");
  await deleteComponent(stage);
  narrator.say("kubectl came back when the controller had seen that everything is gone:");
  await shell.show(`kubectl --context ${spoke} get all --namespace ${namespace}`);
  await shell.show(`kubectl --context ${spoke} get ${clusterWide} ${ours}`);
  const after = await countObjects(stage, uid);
  narrator.say(
    `${after.objects} objects of Eventing are left on ${spoke}, of all kinds that it serves.`,
  );
  if (after.objects > 0) throw new Error(`Left behind on ${spoke}:\n${after.names.join("\n")}`);
  narrator.say("What stays, so that nobody loses data: the namespace and the CRDs.");
  await shell.show(`kubectl --context ${spoke} get namespace ${namespace}`);
  await shell.show(`kubectl --context ${spoke} get crds ${ours} --output name`);
  await shell.show("kubectl knfleet status -A");
}

async function deleteComponent({ narrator, shell }: Stage): Promise<void> {
  using progress = narrator.progress();
  progress.update(`removing Eventing from ${spoke}`);
  const command = `kubectl delete ${argument} --namespace ${namespace} --timeout=120s`;
  const { output } = await shell.quiet(command);
  progress[Symbol.dispose]();
  narrator.command(command.split(" "));
  narrator.output(output);
}

interface Count {
  readonly objects: number;
  readonly kinds: number;
  readonly names: readonly string[];
}

/** Everything on the spoke that carries the component's label, of every kind that can be listed, and the anchor. */
async function countObjects({ shell }: Stage, uid: string): Promise<Count> {
  const there = `kubectl --context ${spoke}`;
  const kinds = await shell.quiet(`${there} api-resources --verbs=list --output=name`);
  const all = kinds.stdout.trim().split("\n").join(",");
  const labelled = await shell.quiet(
    `${there} get ${all} --all-namespaces --selector ${componentUidLabel}=${uid} --output=name`,
  );
  const anchor = await shell.quiet(
    `${there} get configmap ${anchorNameOf(key)} --namespace ${namespace} --ignore-not-found --output=name`,
  );
  const names = `${labelled.stdout}\n${anchor.stdout}`.split("\n").filter((name) => name !== "");
  return { objects: names.length, kinds: new Set(names.map(kindOf)).size, names };
}

function kindOf(name: string): string {
  return name.split("/")[0] ?? "";
}
