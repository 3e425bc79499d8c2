import { keyOf, type KubeObject, type Manifest } from "../../../api/kubernetes.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import { writingVerbs } from "../../e2e/requests.ts";
import type { AuditedRequest } from "../../fleet/audit-log.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import { userAgent } from "./installer.ts";

/** What the engine sent to a spoke, without the lists and watches of its view. */
export async function sentTo(spoke: Cluster, since: Date): Promise<readonly AuditedRequest[]> {
  const requests = await spoke.auditLog.requests({ userAgent, since });
  return requests.filter(({ verb }) => verb !== "watch" && verb !== "list");
}

/** What the engine wrote, as `verb resource name`. */
export async function writtenTo(spoke: Cluster, since: Date): Promise<readonly string[]> {
  const requests = await spoke.auditLog.requests({ userAgent, since, verb: writingVerbs });
  return requests.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);
}

/** The objects of a rendered set that exist. */
export async function liveObjects(
  spoke: Cluster,
  rendered: Rendered,
): Promise<readonly KubeObject[]> {
  const live = await Promise.all(
    rendered.manifests.map((manifest) => spoke.admin.get(keyOf(manifest))),
  );
  return live.filter((object) => object !== undefined);
}

/** Whether objects of a kind stay when the installation goes. */
export function outlives({ kind }: Manifest): boolean {
  return kind === "CustomResourceDefinition" || kind === "Namespace";
}
