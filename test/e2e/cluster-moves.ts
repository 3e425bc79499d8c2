import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";

import type { KubeObject } from "../../api/kubernetes.ts";
import { runKnfleet } from "../cmd/kubectl/run-knfleet.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { setNamespace } from "./set-scene.ts";

/** A shell for the commands of docs/sets.md. */
export interface Typist {
  /** Types a command of the page, and gives what it prints. Throws when it fails. */
  type(command: string): Promise<string>;
}

/** A typist with a kubeconfig for the hub. */
export async function typistOn(hub: Cluster): Promise<Typist> {
  const access = { identity: hub.adminIdentity, namespace: setNamespace };
  const KUBECONFIG = await hub.writeKubeconfig("moves.kubeconfig", access);
  const kubectl = (await ensureBinaries(["kubectl"]))("kubectl");
  return {
    async type(command) {
      const [program, ...words] = command.split(" ");
      if (program !== "kubectl") throw new Error(`No command for kubectl: ${command}`);
      if (words[0] !== "knfleet") {
        const env = { KUBECONFIG, HOME: dirname(KUBECONFIG) };
        return (await promisify(execFile)(kubectl, words, { env })).stdout;
      }
      const line = [...words.slice(1), "--request-timeout", "60s"];
      const { stdout, stderr, exitCode } = await runKnfleet(line, { env: { KUBECONFIG } });
      // A plan that would change something ends with 1.
      if (exitCode === null || exitCode > 1) throw new Error(`${command}: ${stderr}`);
      return stdout;
    },
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

/** Looks at a component and its workload until it is disposed: `seen` has every state of both. */
export class Watchman implements AsyncDisposable {
  readonly seen = new Set<string>();
  #isOver = false;
  readonly #looking: Promise<void>;

  constructor(hub: Cluster, component: KubeObject, profile: Profile) {
    this.#looking = this.#look(hub, component, profile);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#looking;
  }

  async #look(hub: Cluster, { apiVersion, kind, metadata }: KubeObject, profile: Profile) {
    const key = { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name };
    while (!this.#isOver) {
      // oxlint-disable no-await-in-loop -- one look after the other
      const component = await hub.admin.get(key);
      const { workload } = await installedBy(component, profile);
      const deleted = component?.metadata.deletionTimestamp === undefined ? "stays" : "goes";
      const ready = String(conditionOf(component, "Ready")?.status);
      const version = String(valueAt(component, "status", "version"));
      this.seen.add([component?.metadata.uid, deleted, ready, version, workload].join(" "));
      await new Promise((resolve) => setTimeout(resolve, 100));
      // oxlint-enable no-await-in-loop
    }
  }
}
