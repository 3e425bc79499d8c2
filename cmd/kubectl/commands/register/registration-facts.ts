import type { AccessCluster, ClusterProfile } from "../../../../api/cluster-profile.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import type { HubReaders } from "./choose-reader.ts";

/** What was read of the cluster to register. */
export interface SpokeFacts {
  readonly cluster: AccessCluster & { readonly server: string };
  readonly addresses: readonly string[];
  readonly certificateNames: readonly string[];
  /** Uid of its namespace `kube-system`. */
  readonly uid: string;
  readonly kubernetes: string;
  /** Whether `/readyz` says that the API server works. */
  readonly isReady: boolean;
  readonly account: KubeObject | undefined;
  /** The namespace of the account. */
  readonly namespace: KubeObject | undefined;
  readonly role: KubeObject | undefined;
  /** Rights that the caller lacks there, in words. */
  readonly missingRights: readonly string[];
}

/** What was read of the hub. */
export interface HubFacts {
  readonly context: string;
  readonly uid: string;
  readonly isLocal: boolean;
  readonly hasPods: boolean;
  readonly hasController: boolean;
  /** Cluster managers and namespaces whose ClusterProfiles the controller trusts. Empty: all. */
  readonly trusted: Readonly<Record<"managers" | "namespaces", readonly string[]>>;
  /** API version of ClusterProfile; undefined: the hub serves none. */
  readonly profileVersion: string | undefined;
  readonly servesComponents: boolean;
  /** The readers of the provider file, or why there is no provider file. */
  readonly readers: HubReaders | string;
  readonly profile: ClusterProfile | undefined;
  /** By `namespace/name`: the Secrets that a reader of the file would read. */
  readonly secrets: ReadonlyMap<string, KubeObject>;
  /** Namespaces that exist, of those that a registration needs. */
  readonly namespaces: ReadonlySet<string>;
  readonly missingRights: readonly string[];
}
