import { type Commands, words } from "../output/steps.ts";
import type { ClusterItem } from "./clusters.ts";
import type { NextCommand } from "./installation-view.ts";

/** What makes the first installation of a fleet. */
export interface FirstSteps {
  readonly commands: readonly NextCommand[];
  /** The file that the last command applies. */
  readonly manifest: string;
}

/** What to do in a fleet without installations. `clusters`: those of its ClusterProfiles; without any, one comes first. */
export function firstSteps(
  clusters: readonly ClusterItem[],
  { kubectl, knfleet }: Commands,
): FirstSteps {
  const [cluster] = clusters;
  const { namespace, name } = cluster ?? { namespace: "fleet", name: "spoke-1" };
  const register = {
    why: "Add a cluster: spoke-1 is a context of your kubeconfig",
    command: `${knfleet} ${words("register", name)}`,
  };
  return {
    commands: [
      ...(cluster === undefined ? [register] : []),
      {
        why: "Look whether it can be reached",
        command: `${knfleet} ${words("diagnose", `${namespace}/${name}`)}`,
      },
      {
        why: "A namespace for it on the hub",
        command: `${kubectl} create namespace knative-serving`,
      },
      {
        why: "Apply the file below to the hub",
        command: `${kubectl} apply -f knative-serving.yaml`,
      },
    ],
    manifest: `# knative-serving.yaml
apiVersion: operator.knative.dev/v1beta1
kind: KnativeServing
metadata: { name: knative-serving, namespace: knative-serving }
spec:
  clusterProfileRef: { name: ${name}, namespace: ${namespace} }
  ingress: { kourier: { enabled: true } }
  config: { network: { ingress-class: kourier.ingress.networking.knative.dev } }
`,
  };
}
