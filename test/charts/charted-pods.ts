import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import type { KubeObject } from "../../api/kubernetes.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { isRecord, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { ControllerProcess } from "../support/controller-process.ts";
import { WebhookProcess } from "../support/webhook-process.ts";
import { listAt } from "./rendered.ts";

const project = resolve(import.meta.dirname, "../..");
const startMs = 120_000;
// A pod has addresses of its own; here several share the machine's, and nobody waits for the drain.
const own = ["--health-address=127.0.0.1:0"];

/** Where a release of the chart is. */
export interface Release {
  readonly namespace: string;
  /** First part of all its names. */
  readonly name: string;
  /** What lies in /app of the image, a folder that `npm run build` made; absent: the sources are run. */
  readonly app?: string;
}

/** The pods that the chart made on a cluster, played by processes: same program, arguments, environment, files and ServiceAccount. */
export class ChartedPods {
  readonly #cluster: Cluster;
  readonly #release: Release;
  #count = 0;

  constructor(cluster: Cluster, release: Release) {
    this.#cluster = cluster;
    this.#release = release;
  }

  /** A replica of the controller. */
  async controller(): Promise<ControllerProcess> {
    const pod = await this.#podOf("controller");
    const flags = [
      ...(await this.#argumentsOf(pod)),
      ...own,
      `--release-dir=${await releaseDir()}`,
    ];
    const environment = await this.#environmentOf(pod);
    const controller = new ControllerProcess({
      program: this.#fileOf(pod),
      flags,
      environment,
      leaderElection: true,
      readyTimeoutMs: startMs,
    });
    await controller.logged({ msg: "Serving health and metrics" }, startMs);
    await controller.ready();
    return controller;
  }

  /** A replica of the webhook, to which calls of its Service go. */
  async webhook(): Promise<WebhookProcess> {
    const pod = await this.#podOf("webhook");
    const environment = await this.#environmentOf(pod);
    const kubeconfig = environment["KUBECONFIG"] ?? "";
    const here = [...own, "--address=127.0.0.1:0", "--drain-period=0s"];
    const flags = [
      ...(await this.#argumentsOf(pod)),
      ...here,
      `--release-dir=${await releaseDir()}`,
    ];
    const webhook = new WebhookProcess({
      program: this.#fileOf(pod),
      kubeconfig,
      environment,
      flags,
    });
    const isReady = async () => webhook.ready().then(() => true);
    await waitFor("the webhook to be ready", isReady, { timeoutMs: startMs });
    const { namespace, name } = this.#release;
    await this.#cluster.routeService({ namespace, name: `${name}-webhook` }, await webhook.port());
    return webhook;
  }

  /** Runs the program of a pod to its end. */
  async toItsEnd(pod: unknown): Promise<{ readonly code: number; readonly stderr: string }> {
    const env = { PATH: process.env["PATH"] ?? "", ...(await this.#environmentOf(pod)) };
    const { promise, resolve: answer } = Promise.withResolvers<{ code: number; stderr: string }>();
    execFile(process.execPath, [this.#fileOf(pod)], { env }, (error, _stdout, stderr) => {
      answer({ code: error === null ? 0 : Number(error.code), stderr });
    });
    return promise;
  }

  /** The file here that is the program of a pod. */
  #fileOf(pod: unknown): string {
    const words = listAt(pod, "spec", "containers", 0, "command").map(String);
    // An older package of the chart starts sources, which had a folder of their own in the image.
    const [, name] = /^\/app\/(?:cmd\/)?([\w-]+)\.[jt]s$/.exec(words.at(-1) ?? "") ?? [];
    if (name === undefined) throw new Error(`The image has no program ${words.join(" ")}`);
    const { app } = this.#release;
    return app === undefined ? join(project, "cmd", `${name}.ts`) : join(app, `${name}.js`);
  }

  async #podOf(program: string): Promise<KubeObject> {
    const { namespace } = this.#release;
    const labelSelector = `app.kubernetes.io/component=${program}`;
    return waitFor(`a pod of the ${program}`, async () => {
      const pods = await this.#cluster.admin.list({
        apiVersion: "v1",
        kind: "Pod",
        namespace,
        labelSelector,
      });
      const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      return alive.toSorted((one, other) => ageOf(one) - ageOf(other)).at(-1) ?? false;
    });
  }

  /** Arguments of the container, with the paths of mounted volumes where those are here. */
  async #argumentsOf(pod: KubeObject): Promise<readonly string[]> {
    let words = listAt(pod, "spec", "containers", 0, "args").map(String);
    for (const { volume, path } of mountsOf(pod)) {
      const folder = this.folderOf(volume);
      if (!(await this.#fill(volume, folder))) continue;
      words = words.map((word) => word.replace(`=${path}/`, `=${folder}/`));
      words = words.map((word) => (word.endsWith(`=${path}`) ? word.replace(path, folder) : word));
    }
    for (const container of listAt(pod, "spec", "initContainers")) {
      await this.#runToCopy(pod, container);
    }
    return words;
  }

  /** Where a volume of the pods is; an `emptyDir` is found by its name, the others by what they are made from. */
  folderOf(volume: unknown): string {
    const name =
      valueAt(volume, "configMap", "name") ??
      valueAt(volume, "secret", "secretName") ??
      valueAt(volume, "name");
    return join(this.#cluster.folder, "mounts", String(name));
  }

  /** Writes what a ConfigMap or a Secret holds into a folder, and makes one for what is kept in memory; false for other volumes. */
  async #fill(volume: unknown, folder: string): Promise<boolean> {
    if (valueAt(volume, "emptyDir", "medium") === "Memory") {
      await mkdir(folder, { recursive: true });
      return true;
    }
    const map = valueAt(volume, "configMap", "name");
    const name = map ?? valueAt(volume, "secret", "secretName");
    if (typeof name !== "string") return false;
    const kind = map === undefined ? "Secret" : "ConfigMap";
    const { namespace } = this.#release;
    const source = await waitFor(`${kind} ${name}`, () =>
      this.#cluster.admin.get({ apiVersion: "v1", kind, namespace, name }),
    );
    const files = valueAt(source, "data");
    await mkdir(folder, { recursive: true });
    for (const [file, text] of Object.entries(isRecord(files) ? files : {})) {
      const encoding = kind === "Secret" ? "base64" : "utf8";
      await writeFile(join(folder, file), Buffer.from(String(text), encoding));
    }
    return true;
  }

  /** Runs a container that comes before the others, with its mounts where those are here. */
  async #runToCopy(pod: KubeObject, container: unknown): Promise<void> {
    let words = listAt(container, "command").map(String);
    for (const mount of listAt(container, "volumeMounts")) {
      const folder = this.folderOf(volumeOf(pod, mount));
      await mkdir(folder, { recursive: true });
      words = words.map((word) => word.replaceAll(String(valueAt(mount, "mountPath")), folder));
    }
    const [program = "", ...args] = words;
    await promisify(execFile)(program, args, { env: { PATH: process.env["PATH"] ?? "" } });
  }

  /** Its environment, and its ServiceAccount as a kubeconfig. */
  async #environmentOf(pod: unknown): Promise<Readonly<Record<string, string>>> {
    const { namespace } = this.#release;
    const account = String(valueAt(pod, "spec", "serviceAccountName"));
    this.#count += 1;
    const KUBECONFIG = await this.#cluster.writeKubeconfig(`pod-${this.#count}.kubeconfig`, {
      identity: { token: await tokenOf(this.#cluster, { namespace, account }) },
    });
    const given = listAt(pod, "spec", "containers", 0, "env").map((variable) => {
      const value = valueAt(variable, "value");
      return [String(valueAt(variable, "name")), typeof value === "string" ? value : namespace];
    });
    return { ...Object.fromEntries(given), KUBECONFIG };
  }
}

/** A token of a ServiceAccount of the chart. */
export async function tokenOf(
  { admin }: Cluster,
  { namespace, account }: { readonly namespace: string; readonly account: string },
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const answer = await admin.request("POST", path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 7_200 },
  });
  return String(valueAt(answer, "status", "token"));
}

/** What a container mounts, and where. */
function mountsOf(pod: KubeObject): readonly { readonly volume: unknown; readonly path: string }[] {
  return listAt(pod, "spec", "containers", 0, "volumeMounts").map((mount) => ({
    volume: volumeOf(pod, mount),
    path: String(valueAt(mount, "mountPath")),
  }));
}

function volumeOf(pod: KubeObject, mount: unknown): unknown {
  const volumes = listAt(pod, "spec", "volumes");
  return volumes.find((one) => valueAt(one, "name") === valueAt(mount, "name"));
}

function ageOf({ metadata }: KubeObject): number {
  return Date.parse(String(metadata.creationTimestamp));
}
