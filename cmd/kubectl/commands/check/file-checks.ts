import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { targetIdOf } from "../../../../controller/reconcile/duplicate.ts";
import { comparableOf, type Comparable } from "../../compare/comparable.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { componentsOf } from "../diagnose/hops/component-hops.ts";
import { askHub } from "../plan/hub-dry-run.ts";
import type { ComponentDocument } from "../render/component-documents.ts";
import type { RenderSettings } from "../render/render-component.ts";
import { checkItem, type CheckItem } from "./check-item.ts";
import type { Versions } from "./cluster-checks.ts";

export interface FileCheckDeps {
  readonly access: ClusterAccess;
  readonly settings: RenderSettings;
  readonly versions: Versions;
}

/** Whether a component that is not applied yet would be taken and installed. Nothing is stored. */
export async function checkDocument(
  { component, where }: ComponentDocument,
  { access, settings, versions }: FileCheckDeps,
  signal: AbortSignal,
): Promise<readonly CheckItem[]> {
  const subject = titleOf(component);
  const cluster = component.spec?.clusterProfileRef ?? null;
  const base = { subject, cluster };
  const answer = await askHub(component, access.hub, signal);
  const { action, message } = answer;
  const kubernetesVersion = versions.get(targetIdOf(component));
  const made = await comparableOf(answer.component, settings, { kubernetesVersion });
  const stored = action === "none" ? "is there already" : "would be stored";
  return [
    checkItem({
      ...base,
      check: "hub takes it",
      state: action === "refused" ? "FAIL" : "OK",
      message: message ?? `${where}: ${stored}`,
    }),
    versionItem(made, base),
    await twinItem(component, { access, base }, signal),
  ];
}

function versionItem(made: Comparable | FleetError, base: Base): CheckItem {
  const check = "version";
  if (!(made instanceof FleetError)) {
    const message = `${made.version}, ${made.manifests.length} objects`;
    return checkItem({ ...base, check, state: "OK", message });
  }
  const { code, reason, sentence: message } = made;
  // What could not be fetched from here may be there for the controller.
  const state = reason === "ManifestSourceUnavailable" ? "WARN" : "FAIL";
  return checkItem({ ...base, check, state, code: code ?? reason, message });
}

async function twinItem(
  component: Component,
  { access, base }: Pick<FileCheckDeps, "access"> & { readonly base: Base },
  signal: AbortSignal,
): Promise<CheckItem> {
  const all = (await componentsOf(component.kind, access.hub, signal)) ?? [];
  const twin = all.find(
    (other) => targetIdOf(other) === targetIdOf(component) && titleOf(other) !== titleOf(component),
  );
  const check = "one per cluster";
  if (twin === undefined) {
    const message = `no other ${component.kind} is for its cluster`;
    return checkItem({ ...base, check, state: "OK", message });
  }
  const message = `${titleOf(twin)} is for the same cluster`;
  return checkItem({ ...base, check, state: "FAIL", code: "KNF1013", message });
}

type Base = Pick<CheckItem, "subject" | "cluster">;

function titleOf({ kind, metadata: { namespace, name } }: Component): string {
  return describe({ kind, namespace, name });
}
