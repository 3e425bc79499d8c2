import { ApiError } from "../../access/api-error.ts";
import type { Component, ComponentKind } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { exitCodes, type ExitCode } from "./exit-codes.ts";
import { stringAt } from "./fields.ts";
import { listInstallations, NotServedError } from "./installations.ts";
import { reportApiVersion, type Report, type ReportError } from "./report.ts";
import { allKinds } from "./selection.ts";

/** The versions of one installation. */
export interface VersionItem {
  readonly namespace: string;
  readonly name: string;
  readonly kind: ComponentKind;
  /** The ClusterProfile of the target; null for the hub itself. */
  readonly cluster: { readonly namespace: string; readonly name: string } | null;
  /** Installed version, as the hub says. */
  readonly version: string | null;
  /** `spec.version`; null when the controller chooses. */
  readonly wantedVersion: string | null;
}

export interface VersionSummary {
  readonly client: { readonly version: string; readonly node: string; readonly platform: string };
  /** Null with `--client` and when the hub could not be asked. */
  readonly hub: { readonly server: string; readonly kubernetes: string | null } | null;
}

export type VersionReport = Report<"Version", VersionSummary, VersionItem>;

export interface VersionDeps {
  /** Undefined: the client's version only. */
  readonly access: ClusterAccess | undefined;
  readonly client: VersionSummary["client"];
  readonly now: () => Date;
}

/**
 * The versions of this program, of the hub and of every installation. Throws when the hub cannot be asked for its
 * version; installations that may not be listed are in `errors`.
 */
export async function version(
  { access, client, now }: VersionDeps,
  signal: AbortSignal,
): Promise<VersionReport> {
  const none = { hub: null, components: [], errors: [] };
  const said = access === undefined ? none : await askHub(access, signal);
  return {
    apiVersion: reportApiVersion,
    kind: "Version",
    generatedAt: timestampOf(now()),
    cliVersion: client.version,
    complete: said.errors.length === 0,
    summary: { client, hub: said.hub },
    items: said.components
      .map(versionItemOf)
      .toSorted((a, b) => (sortKeyOf(a) < sortKeyOf(b) ? -1 : 1)),
    errors: said.errors,
  };
}

interface HubAnswer {
  readonly hub: VersionSummary["hub"];
  readonly components: readonly Component[];
  readonly errors: readonly ReportError[];
}

async function askHub(access: ClusterAccess, signal: AbortSignal): Promise<HubAnswer> {
  const { hub, hubTimeoutMs } = access;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(hubTimeoutMs)]);
  const [answer, listed] = await Promise.all([
    hub.request("GET", "/version", undefined, deadline),
    componentsOf(access, deadline),
  ]);
  const kubernetes = stringAt(answer, "gitVersion");
  return { hub: { server: hub.server, kubernetes }, ...listed };
}

async function componentsOf(
  access: ClusterAccess,
  signal: AbortSignal,
): Promise<Pick<HubAnswer, "components" | "errors">> {
  try {
    const components = await listInstallations(access, { kinds: allKinds, names: [] }, signal);
    return { components, errors: [] };
  } catch (error) {
    if (error instanceof NotServedError) return { components: [], errors: [] };
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    const { message } = error;
    return { components: [], errors: [{ reason: "Forbidden", message, cluster: null }] };
  }
}

/** The versions of a component, as its object on the hub says. */
export function versionItemOf({ kind, metadata, spec, status }: Component): VersionItem {
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    kind,
    cluster: spec?.clusterProfileRef ?? null,
    version: status?.version ?? null,
    wantedVersion: spec?.version ?? null,
  };
}

function sortKeyOf({ namespace, name, kind }: VersionItem): string {
  return [namespace, name, kind].join("\u0000");
}

/** The exit code that a version report stands for. */
export function versionExitCode({ complete }: VersionReport): ExitCode {
  return complete ? exitCodes.fine : exitCodes.incomplete;
}
