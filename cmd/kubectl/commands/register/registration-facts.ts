import type { Right } from "../../../../access/kube/missing-right.ts";
import type { AccessCluster, ClusterProfile } from "../../../../api/cluster-profile.ts";
import type { Component } from "../../../../api/component.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import type { PresentObjects } from "../../rights/spoke-objects.ts";
import type { HubReaders } from "./choose-reader.ts";

/** What was read of the cluster to register. The objects of `PresentObjects` are those of its names; `account` and `binding` have the name of the account. */
export interface SpokeFacts extends PresentObjects {
  readonly cluster: AccessCluster & { readonly server: string };
  readonly addresses: readonly string[];
  readonly certificateNames: readonly string[];
  /** Uid of its namespace `kube-system`. */
  readonly uid: string;
  readonly kubernetes: string;
  /** Whether `/readyz` says that the API server works. */
  readonly isReady: boolean;
  /** Anchors of installations; undefined: they may not be listed. */
  readonly anchors: readonly KubeObject[] | undefined;
  /** Metadata of the Secrets that earlier registrations made for tokens of the account. */
  readonly tokens: readonly KubeObject[];
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
  /** All ClusterProfiles and components. Empty: there are none, or they may not be listed. */
  readonly profiles: readonly ClusterProfile[];
  readonly components: readonly Component[];
  /** What of these two may not be listed. */
  readonly unlisted: readonly Right[];
  /** By `namespace/name`: the Secrets that a reader of the file would read. */
  readonly secrets: ReadonlyMap<string, KubeObject>;
  /** Namespaces that exist, of those that a registration needs. */
  readonly namespaces: readonly KubeObject[];
  readonly missingRights: readonly string[];
}
