import { listAt, recordAt, textAt } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { isWorkload } from "../../render/workloads/pod-template.ts";

interface Pods {
  readonly name: string;
  readonly account: string | undefined;
  /** Names of their pull secrets. */
  readonly secrets: readonly unknown[];
}

/** The pods of the workloads of a rendering. */
export function podsOf(manifests: readonly Manifest[]): readonly Pods[] {
  return manifests
    .filter((one) => isWorkload(one))
    .map((one) => {
      const spec = recordAt(one, "spec", "template", "spec");
      const secrets = listAt(spec, "imagePullSecrets").map((secret) => recordAt(secret)["name"]);
      const account = textAt(spec, "serviceAccountName");
      return { name: one.metadata.name ?? "", account, secrets };
    });
}

/** The ServiceAccounts of a rendering that no workload of it has: controllers could make pods with them at run time. */
export function accountsWithoutPods(manifests: readonly Manifest[]): readonly string[] {
  const used = new Set(podsOf(manifests).map(({ account }) => account));
  const accounts = manifests.flatMap(({ kind, metadata }) =>
    kind === "ServiceAccount" ? [metadata.name ?? ""] : [],
  );
  return accounts.filter((name) => !used.has(name));
}
