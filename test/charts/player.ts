import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { ChartedPods } from "./charted-pods.ts";

const namespace = "knfleet-system";
const programs = ["webhook", "controller"] as const;

type Program = (typeof programs)[number];

interface Playing {
  readonly of: string;
  readonly process: AsyncDisposable;
}

/** Plays the pods of the release `knfleet` of a hub, whatever Helm does to it. */
export class Player implements AsyncDisposable {
  readonly #hub: Cluster;
  readonly #pods: ChartedPods;
  readonly #playing = new Map<Program, Playing>();

  constructor(hub: Cluster) {
    this.#hub = hub;
    this.#pods = new ChartedPods(hub, { namespace, name: "knfleet" });
  }

  /** Starts, changes and ends processes as the Deployments want it now. */
  async follow(): Promise<void> {
    for (const program of programs) {
      const deployment = await this.#deployment(program);
      const of = deployment === undefined ? "" : versionOf(deployment);
      const now = this.#playing.get(program);
      if (now?.of === of) continue;
      await now?.process[Symbol.asyncDispose]();
      this.#playing.delete(program);
      if (of === "") continue;
      const process = await this.#pods[program]();
      this.#playing.set(program, { of, process });
      if (program === "webhook") await this.#announce();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process } of this.#playing.values()) await process[Symbol.asyncDispose]();
  }

  /** The pods of the fleet have no address, so no endpoint comes from them. */
  async #announce(): Promise<void> {
    await this.#hub.admin.apply({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        namespace,
        name: "knfleet-webhook-played",
        labels: { "kubernetes.io/service-name": "knfleet-webhook" },
      },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.255.0.1"], conditions: { ready: true } }],
      ports: [{ name: "webhook", port: 9_443 }],
    });
  }

  #deployment(program: Program): Promise<KubeObject | undefined> {
    const name = `knfleet-${program}`;
    const metadata = { namespace, name };
    return this.#hub.admin.get(keyOf({ apiVersion: "apps/v1", kind: "Deployment", metadata }));
  }
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.generation}`;
}
