import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { InstallationPlace } from "../../installation/anchor-object.ts";

/** The cluster that a component is installed on. */
export interface Target extends InstallationPlace {
  readonly client: KubeClient;
  /** Field manager of this hub: `knfleet` and a short hub id, at most 128 characters. */
  readonly fieldManager: string;
}
