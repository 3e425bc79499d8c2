import { ApiError } from "../../access/api-error.ts";
import { anchorLabels, managedByValue } from "../../api/anchor.ts";
import { FleetError } from "../../api/errors.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { Target } from "./target.ts";

const resource = knownResource("v1", "Namespace");

/**
 * The namespaces of an installation that its cluster lacks: its own, and those among the rendered objects. Throws FleetError
 * `ClusterBusy` when one is being deleted.
 */
export async function missingNamespaces(
  target: Target,
  rendered: readonly Manifest[],
  signal: AbortSignal,
): Promise<readonly Manifest[]> {
  const found = await Promise.all(
    namespacesOf(target, rendered).map(async (manifest) => {
      const { name = "" } = manifest.metadata;
      const live = await target.client.get({ resource, name }, { metadataOnly: true }, signal);
      if (live?.metadata.deletionTimestamp !== undefined) {
        throw new FleetError("ClusterBusy", `Namespace ${name} is being deleted`);
      }
      return live === undefined ? [manifest] : [];
    }),
  );
  return found.flat();
}

/** Creates namespaces; one that somebody else created meanwhile is left as it is. */
export async function createNamespaces(
  { client, fieldManager }: Pick<Target, "client" | "fieldManager">,
  missing: readonly Manifest[],
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    missing.map(async (manifest) => {
      try {
        await client.create({ resource }, manifest, { fieldManager }, signal);
      } catch (error) {
        if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
      }
    }),
  );
}

function namespacesOf({ namespace }: Target, rendered: readonly Manifest[]): readonly Manifest[] {
  const own: Manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  const named = rendered.some(({ metadata }) => metadata.name === namespace);
  return [...(named ? [] : [own]), ...rendered].map(managed);
}

// As upstream does it: its own value wins over one of the user's. Spec: knative-operator.md 5.4.
function managed(manifest: Manifest): Manifest {
  const { ownerReferences: _, ...metadata } = manifest.metadata;
  const labels = { ...metadata.labels, [anchorLabels.managedBy]: managedByValue };
  return { ...manifest, metadata: { ...metadata, labels } };
}
