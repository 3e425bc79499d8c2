import type { KubeObject } from "../../api/kubernetes.ts";
import { kubectlWith, pathWithPlugin } from "../cmd/kubectl/plugin-folder.ts";
import type { Fleet, Profile } from "../fleet/fleet.ts";
import { setNamespace } from "./set-scene.ts";

/** Types a command of docs/sets.md, and gives what it prints. Throws when it fails. */
export type Typist = (command: string) => Promise<string>;

/** A typist with a kubeconfig for the hub. */
export async function typistOn({ hub, folder }: Fleet): Promise<Typist> {
  const access = { identity: hub.adminIdentity, namespace: setNamespace };
  const KUBECONFIG = await hub.writeKubeconfig("moves.kubeconfig", access);
  const kubectl = await kubectlWith(await pathWithPlugin(folder));
  return async (command) => {
    const [program, ...words] = command.split(" ");
    if (program !== "kubectl") throw new Error(`No command for kubectl: ${command}`);
    const { stdout, stderr, exitCode } = await kubectl(words, { env: { KUBECONFIG } });
    // A plan that would change something ends with 1.
    const isPlan = words.join(" ").startsWith("knfleet rollout plan");
    if (exitCode !== 0 && !(isPlan && exitCode === 1)) throw new Error(`${command}: ${stderr}`);
    return stdout;
  };
}

/** What stays the same of an installation that is handed over: the component and its workload on the spoke. */
export interface Installed {
  readonly component: string;
  readonly workload: string;
  readonly generation: number | undefined;
}

/** What is installed by a component on a spoke. */
export async function installedBy(
  component: KubeObject | undefined,
  { spoke: { admin } }: Profile,
): Promise<Installed> {
  const workload = await admin.get({
    apiVersion: "apps/v1",
    kind: "Deployment",
    namespace: "knative-eventing",
    name: "thin",
  });
  return {
    component: component?.metadata.uid ?? "gone",
    workload: workload?.metadata.uid ?? "gone",
    generation: workload?.metadata.generation,
  };
}
