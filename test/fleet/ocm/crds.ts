import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import type { Manifest } from "../../../api/kubernetes.ts";
import { ensureModuleFiles } from "../binaries.ts";
import type { ModuleFiles } from "../binary-catalogue.ts";
import type { Cluster } from "../cluster.ts";
import { conditionOf } from "../json-record.ts";
import { manifestsIn, readManifestFolder } from "../manifest-files.ts";
import { waitFor } from "../wait-for.ts";

/** Which ClusterProfile CRD a hub has: the one of the fleet, with lists as maps, or that of OCM, with atomic lists. */
export type ProfileCrd = "inventory" | "ocm";

const profiles = "clusterprofiles.multicluster.x-k8s.io";

/** Installs the CRDs that OCM's hub needs, and waits until they are served. */
export async function installHubCrds(hub: Cluster, profileCrd: ProfileCrd): Promise<void> {
  const crds = await crdsOf("ocm-hub-crds");
  const wanted = crds.filter(({ metadata }) => profileCrd === "ocm" || metadata.name !== profiles);
  await install(hub, wanted);
}

/** Puts the ClusterProfile CRD of the Cluster Inventory API in the place of that of OCM. */
export async function installInventoryCrd(hub: Cluster): Promise<void> {
  const crds = await readManifestFolder(await ensureModuleFiles("inventory-crds"));
  await install(
    hub,
    crds.filter(({ metadata }) => metadata.name === profiles),
  );
}

/** Installs the CRDs that OCM's agents need on a spoke, and waits until they are served. */
export async function installSpokeCrds(spoke: Cluster): Promise<void> {
  await install(spoke, await crdsOf("ocm-spoke-crds"));
}

async function crdsOf(files: ModuleFiles): Promise<readonly Manifest[]> {
  const folder = await ensureModuleFiles(files);
  const names = (await readdir(folder)).filter((name) => name.endsWith("crd.yaml"));
  const crds = names.map(async (name) =>
    manifestsIn(withoutConversion(await readFile(join(folder, name), "utf8")), name),
  );
  return (await Promise.all(crds)).flat();
}

// Two CRDs are templates of the operator, which puts its conversion webhook in; without one the versions are stored as they are.
function withoutConversion(text: string): string {
  return text.replace(/^ {2}conversion:\n(?: {3,}.*\n)+/m, "");
}

async function install({ admin }: Cluster, crds: readonly Manifest[]): Promise<void> {
  await Promise.all(crds.map((crd) => admin.apply(crd)));
  await Promise.all(
    crds.map(({ apiVersion, kind, metadata: { name = "" } }) =>
      waitFor(`CRD ${name} to be served`, async () => {
        const crd = await admin.get({ apiVersion, kind, name });
        return conditionOf(crd, "Established")?.status === "True";
      }),
    ),
  );
}
