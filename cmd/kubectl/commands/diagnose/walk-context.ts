import type { RequestObserver } from "../../../../access/http/request-record.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Credential } from "../../../../access/plugins/credential.ts";
import type { PluginLimits } from "../../../../access/plugins/plugin-limits.ts";
import type { Rendering } from "./hops/refused-object.ts";

/** From where, as whom and within which limits a way is walked. */
export interface WalkContext {
  readonly hub: KubeClient;
  /** The hub as who looks for its provider file, where the walk is made as somebody who may not; absent: `hub`. */
  readonly fileHub?: KubeClient;
  /** Environment of our process as plugins see it, with the kubeconfig that they are to use. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Time for one step on the hub, in ms. */
  readonly hubTimeoutMs: number;
  /** Time for one step on the way to the spoke and there, in ms. */
  readonly hopTimeoutMs: number;
  readonly userAgent: string;
  /** A file of this machine; undefined: the controller's, as the hub has it. */
  readonly providerFile: string | undefined;
  /** Where the readers of the hub's file look for Secrets; absent: where the controller does. */
  readonly pluginNamespace?: string;
  /** Folders below which exec plugins have to be; empty: anywhere, for a provider file of this machine. */
  readonly pluginRoots: readonly string[];
  /** Whether commands that came from the cluster may be run, too. Security: T-85. */
  readonly exec: boolean;
  readonly execTimeoutMs: number;
  /** Limits how many plugins run at the same time. */
  readonly plugins: PluginLimits;
  readonly onRequest?: RequestObserver;
  /** What objects are rendered with that the cluster refuses; absent, or undefined: nobody can ask why. */
  readonly rendering?: () => Promise<Rendering | undefined>;
  /** Called with every credential that is obtained, for who has to keep it out of what he writes. */
  readonly onCredential?: (credential: Credential) => void;
}
