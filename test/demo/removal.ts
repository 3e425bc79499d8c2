import { anchorNameOf, componentUidLabel } from "../../installation/anchor.ts";
import { eventing } from "./components.ts";
import { componentOf, type Stage } from "./stage.ts";

const { key, spoke, argument } = eventing;
const namespace = key.namespace;
const clusterWide =
  "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations";
const ours = "-l app.kubernetes.io/name=knative-eventing";

/** Removes Eventing and shows that the spoke is clean: nothing of any kind is left but CRDs and the namespace. */
export async function removeEventing(stage: Stage): Promise<void> {
  const { narrator, shell } = stage;
  const uid = (await componentOf(stage, eventing))?.metadata.uid ?? "";
  const before = await countObjects(stage, uid);
  narrator.say(
    `${before.names.length} objects on ${spoke} belong to Eventing, of ${before.kinds} kinds.`,
  );
  if (before.names.length === 0) throw new Error("There should be something to remove");
  await deleteComponent(stage);
  narrator.say("kubectl came back when the controller had seen that everything is gone:");
  await shell.show(`kubectl --context ${spoke} get all -n ${namespace}`);
  await shell.show(`kubectl --context ${spoke} get ${clusterWide} ${ours}`);
  const after = await countObjects(stage, uid);
  const counted = `Counted over all ${after.searched} kinds that ${spoke} serves: ${after.names.length} objects of Eventing are left.`;
  narrator.say(counted);
  if (after.names.length > 0) throw new Error(`${counted}\n${after.names.join("\n")}`);
  const crds = await shell.quiet(`kubectl --context ${spoke} get crds ${ours} -o name`);
  narrator.say(
    `What stays, so that nobody loses data: ${linesOf(crds.stdout).length} CRDs and the namespace.`,
  );
  await shell.show(`kubectl --context ${spoke} get namespace ${namespace}`);
  await shell.show("kubectl knfleet status -A");
}

async function deleteComponent({ narrator, shell }: Stage): Promise<void> {
  const command = `kubectl delete ${argument} -n ${namespace} --timeout=120s`;
  narrator.command(command.split(" "));
  using progress = narrator.progress();
  progress.update(`removing Eventing from ${spoke}`);
  const { output } = await shell.quiet(command);
  progress[Symbol.dispose]();
  narrator.output(output);
}

interface Count {
  readonly names: readonly string[];
  /** How many kinds the objects are of. */
  readonly kinds: number;
  /** How many kinds were looked through. */
  readonly searched: number;
}

/** Everything on the spoke that carries the component's label, of every kind that can be listed, and the anchor. */
async function countObjects({ narrator, shell }: Stage, uid: string): Promise<Count> {
  using progress = narrator.progress();
  progress.update(`counting what is on ${spoke}`);
  const there = `kubectl --context ${spoke}`;
  const kinds = linesOf((await shell.quiet(`${there} api-resources --verbs=list -o name`)).stdout);
  const labelled = await shell.quiet(
    `${there} get ${kinds.join(",")} -A -l ${componentUidLabel}=${uid} -o name`,
  );
  const anchor = await shell.quiet(
    `${there} get configmap ${anchorNameOf(key)} -n ${namespace} --ignore-not-found -o name`,
  );
  const names = linesOf(`${labelled.stdout}\n${anchor.stdout}`);
  const kindsFound = new Set(names.map((name) => name.split("/")[0]));
  return { names, kinds: kindsFound.size, searched: kinds.length };
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}
