import { execFile } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import type { KubeObject } from "../../api/kubernetes.ts";
import { blocksOf } from "../demo/page.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { waitFor } from "../fleet/wait-for.ts";

const project = resolve(import.meta.dirname, "../..");
const page = join(project, "docs/examples/README.md");

/** Runs every command of docs/examples on a hub, as they stand there, and returns the components that it has then. */
export async function followExamples(hub: Cluster): Promise<readonly KubeObject[]> {
  const kubectl = (await ensureBinaries(["kubectl"]))("kubectl");
  const programs = join(hub.folder, "programs");
  await mkdir(programs, { recursive: true });
  await symlink(kubectl, join(programs, "kubectl"));
  const PATH = `${programs}:${process.env["PATH"] ?? ""}`;
  const env = { PATH, HOME: hub.folder, KUBECONFIG: hub.adminKubeconfigPath };
  for (const { language, text } of blocksOf(await readFile(page, "utf8"))) {
    if (language !== "sh") continue;
    // All of them can be repeated, which is for a busy hub that did not answer the webhook in time.
    const done = () => promisify(execFile)("sh", ["-eu", "-c", text], { cwd: project, env });
    await waitFor(`the commands\n${text}`, done, { timeoutMs: 90_000 });
  }
  return componentsOf(hub);
}

/** Takes the components and the ClusterProfiles away again. */
export async function forgetExamples(hub: Cluster): Promise<void> {
  const profiles = await hub.admin.list({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    labelSelector: "stage",
  });
  for (const { apiVersion, kind, metadata } of [...(await componentsOf(hub)), ...profiles]) {
    const { namespace = "", name } = metadata;
    await hub.admin.remove({ apiVersion, kind, namespace, name });
  }
}

async function componentsOf({ admin }: Cluster): Promise<readonly KubeObject[]> {
  const apiVersion = "operator.knative.dev/v1beta1";
  const lists = ["KnativeServing", "KnativeEventing"].map((kind) =>
    admin.list({ apiVersion, kind, labelSelector: "stage" }),
  );
  return (await Promise.all(lists)).flat();
}
