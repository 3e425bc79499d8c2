import { ApiError, unlessDenied } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { type Right, rightText, rightTo } from "../../../../access/kube/missing-right.ts";
import { isBuiltIn } from "../../../../access/plugins/built-in-plugins.ts";
import type { ProviderFile } from "../../../../access/providers/provider-config.ts";
import { allKinds, type Component, operatorApiVersion } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { componentId } from "../../../../api/keys.ts";
import { knownResource } from "../../../../api/resources.ts";
import { olderDuplicateOf } from "../../../../controller/reconcile/claims.ts";
import type { Controllers } from "../../hub/find-controller.ts";
import { componentsOf, type HubReading } from "../../hub/installations.ts";
import { listVisible } from "../../hub/list-visible.ts";
import { MalformedObjects } from "../../hub/malformed-objects.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { readKubernetesVersion } from "../../spokes/kubernetes-version.ts";
import { fleetFinding } from "../explain-error.ts";
import { readProviderFile } from "../hops/provider-hops.ts";
import type { WalkContext } from "../walk.ts";
import { checkItem, type CheckItem, unseenItem } from "./check-item.ts";

const subject = "hub";

/** Checks whether plugins can be mounted as image volumes, which Kubernetes has by default since 1.35. */
export async function checkHubVersion(hub: KubeClient, signal: AbortSignal): Promise<CheckItem> {
  const version = await unlessDenied(readKubernetesVersion(hub, signal));
  const check = "Kubernetes of the hub";
  if (version === undefined) {
    return checkItem({ check, subject, state: "SKIPPED", message: "the version may not be read" });
  }
  const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const isNew = Number(major) > 1 || Number(minor) >= 35;
  if (isNew) return checkItem({ check, subject, state: "OK", message: version });
  return checkItem({
    check,
    subject,
    state: "WARN",
    message: `${version} has no image volumes by default (1.35 has)`,
    next: [
      "Let the chart copy the plugins into the pod in place of image volumes, or turn the feature gate ImageVolume on.",
    ],
  });
}

/** Checks whether the hub serves ClusterProfiles, and in which versions. */
export async function checkProfileKind(hub: KubeClient, signal: AbortSignal): Promise<CheckItem> {
  const check = "ClusterProfile CRD";
  try {
    const group = await hub.request("GET", "/apis/multicluster.x-k8s.io", undefined, signal);
    const versions = itemsAt(group, "versions").flatMap((one) => stringAt(one, "version") ?? []);
    const known = versions.some((version) => /^v1(?:alpha1|alpha2|beta1)?$/.test(version));
    const message = `multicluster.x-k8s.io is served as ${versions.join(", ")}`;
    if (known) return checkItem({ check, subject, state: "OK", message });
    return checkItem({
      check,
      subject,
      state: "WARN",
      message: `${message}, which knfleet does not know`,
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const message = "The hub does not serve ClusterProfiles";
    const next = [
      "Install the CRD of cluster-inventory-api, and a cluster manager that writes ClusterProfiles.",
    ];
    return checkItem({ check, subject, state: "FAIL", code: "KNF2001", message, next });
  }
}

/** Checks whether the provider file, and each provider in it, can be used. */
export async function checkProviderFile(
  controllers: Controllers | undefined,
  context: WalkContext,
  signal: AbortSignal,
): Promise<readonly CheckItem[]> {
  const check = "provider file";
  try {
    const { value, message, findings = [] } = await readProviderFile(controllers, context, signal);
    const next = findings.flatMap((finding) => finding.next);
    if (value === undefined) {
      return [checkItem({ check, subject, state: "SKIPPED", code: "KNF3001", message, next })];
    }
    const { providers, warnings } = value.file;
    const isEmpty = providers.length === 0;
    const broken = providers.flatMap(({ name, problem }) =>
      problem === undefined ? [] : [{ name, problem }],
    );
    return [
      checkItem({ check, subject, state: isEmpty ? "FAIL" : "OK", message }),
      ...broken.map(({ name, problem }) =>
        checkItem({ check, subject, state: "FAIL", message: `provider ${name}: ${problem}` }),
      ),
      ...warnings.map((warning) => checkItem({ check, subject, state: "WARN", message: warning })),
      ...(await checkOtherReaders(value.file, context.hub, signal)),
    ];
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const { code, message, next } = fleetFinding(error);
    return [checkItem({ check, subject, state: "FAIL", code, message, next })];
  }
}

/** API groups of programs that read provider files, too, and their names. */
const otherReaders = [
  [/^argoproj\.io$/, "Argo CD"],
  [/(?:^|\.)projectsveltos\.io$/, "Sveltos"],
  [/^kueue\.x-k8s\.io$/, "Kueue"],
] as const;

/** Warns that other programs of the hub cannot run `builtin:` commands, in case they are given the same file. */
async function checkOtherReaders(
  { providers }: ProviderFile,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly CheckItem[]> {
  const own = providers.filter(({ exec }) => exec !== undefined && isBuiltIn(exec.command));
  if (own.length === 0) return [];
  const answer = await unlessDenied(hub.request("GET", "/apis", undefined, signal));
  const groups = itemsAt(answer, "groups").flatMap((group) => stringAt(group, "name") ?? []);
  const readers = otherReaders.flatMap(([pattern, name]) =>
    groups.some((group) => pattern.test(group)) ? [name] : [],
  );
  if (readers.length === 0) return [];
  const names = own.map(({ name }) => name).join(", ");
  return [
    checkItem({
      check: "shared provider file",
      subject,
      state: "WARN",
      message: `builtin: commands (${names}) are knfleet's own: ${readers.join(", ")} of this hub cannot use a file with them`,
      next: [
        "Give other programs a file of their own, or both the official plugins; docs/access.md says how.",
      ],
    }),
  ];
}

/** The components of the hub, as far as they may be listed, and the kinds that may not. What has not the form of its CRD goes to `malformed`. */
export async function listVisibleComponents(
  { hub, malformed = new MalformedObjects() }: Omit<HubReading, "hubTimeoutMs">,
  signal: AbortSignal,
): Promise<{ readonly components: readonly Component[]; readonly denied: readonly Right[] }> {
  const lists = await Promise.all(
    allKinds.map(async (kind) => {
      const resource = knownResource(operatorApiVersion, kind);
      const list = hub.list({ resource }, {}, signal).then(({ items }) => items);
      return { kind, ...(await listVisible(list, rightTo("list", resource))) };
    }),
  );
  return {
    components: lists.flatMap(({ kind, items }) => componentsOf(items, kind, malformed)),
    denied: lists.flatMap(({ denied }) => denied),
  };
}

/** Checks whether two components of one kind name one ClusterProfile. Which cluster it leads to is not known on the hub. `denied`: the rights to list some of them that are missing. */
export function checkCollisions(
  all: readonly Component[],
  denied: readonly Right[],
): readonly CheckItem[] {
  const check = "one per profile";
  const found = all.flatMap((component) => {
    const older = olderDuplicateOf(component, all);
    return older === undefined ? [] : [{ component, older }];
  });
  const unseen = denied.map((right) => unseenItem(check, `the right to ${rightText(right)}`));
  if (found.length === 0) {
    if (unseen.length > 0) return unseen;
    return [
      checkItem({
        check,
        subject,
        state: "OK",
        message: `${all.length} components, no two of a kind with the same ClusterProfile`,
      }),
    ];
  }
  const clashes = found.map(({ component, older }) =>
    checkItem({
      check,
      subject: componentId(component),
      cluster: component.spec?.clusterProfileRef ?? null,
      state: "FAIL",
      code: "KNF1013",
      message: `${componentId(older)} has the same cluster and is older`,
      next: ["kubectl knfleet orphans"],
    }),
  );
  return [...clashes, ...unseen];
}
