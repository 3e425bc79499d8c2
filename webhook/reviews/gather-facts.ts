import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";

import { refusedPlugin } from "../../access/plugins/plugin-policy.ts";
import type { Provider } from "../../access/providers/provider-config.ts";
import type { References } from "../../access/providers/references.ts";
import type { AllowedSource } from "../../access/urls/allowed-source.ts";
import { componentKinds } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { providerFor } from "../rules/reference.ts";
import { newStrongParts } from "../rules/rights/author-rights.ts";
import type { ComponentFacts, RenderCheck, RenderFindings, Subject } from "../rules/rule.ts";
import type { AccessReviews } from "./access-review.ts";
import type { HubFacts } from "./hub-facts.ts";
import type { AdmissionRequest } from "./review.ts";

export interface FactSources {
  readonly facts: Pick<HubFacts, "profile" | "components" | "providerFiles">;
  readonly accessReviews: AccessReviews;
  /** What the controller would say; absent: not known. */
  readonly renderCheck?: RenderCheck;
  /** Who may use which ClusterProfile; absent: every namespace all of them. */
  readonly references?: Pick<References, "policy">;
  /** Where manifests may come from; absent: the controller decides. */
  readonly manifestSources?: readonly AllowedSource[];
  /** Folders of the plugins; absent: plugins are not on this machine. */
  readonly pluginRoots?: readonly string[];
  /** Whether a change of the user's manifests needs the right `apply-cluster-scoped`. Security: T-33. */
  readonly manifestRight?: boolean;
}

type Gathering = FactSources & {
  readonly request: AdmissionRequest;
  /** Ends what only advises. */
  readonly early: AbortSignal | undefined;
};

/** Gathers the facts about a component at once. A fact that cannot be had is unknown, and the rules say what that means. */
export async function gatherFacts(
  subject: Subject,
  deps: Gathering,
  signal: AbortSignal,
): Promise<ComponentFacts> {
  const { facts } = deps;
  const { ref } = subject;
  const [mayUse, apply, cluster, components, render] = await Promise.all([
    orUnknown(mayUseCluster(subject, deps, signal)),
    applyFacts(subject, deps, signal),
    ref === undefined ? undefined : clusterFacts(ref, deps, signal),
    orUnknown(facts.components(subject.kind, signal)),
    renderFindings(subject, deps, signal),
  ]);
  // A review that comes too late is not decided at all.
  signal.throwIfAborted();
  return {
    mayUse,
    ...apply,
    profile: cluster?.profile,
    providers: cluster?.providers,
    pluginProblem: cluster?.pluginProblem,
    components,
    render,
    references: deps.references?.policy,
    manifestSources: deps.manifestSources,
  };
}

/** What rendering finds about a component; undefined where nothing is rendered. */
export async function renderFindings(
  { component, misshapen }: Pick<Subject, "component" | "misshapen">,
  { renderCheck, early }: Pick<Gathering, "renderCheck" | "early">,
  signal: AbortSignal,
): Promise<RenderFindings | undefined> {
  if (component === undefined) return undefined;
  const render = await renderCheck?.(component, signal, early);
  // A part of the spec renders to something that nobody wants.
  return render === undefined || misshapen.length === 0
    ? render
    : { ...render, patches: [], others: [] };
}

async function orUnknown<Value>(value: Promise<Value>): Promise<Value | "unknown"> {
  return value.catch(() => "unknown" as const);
}

async function mayUseCluster(
  { ref }: Subject,
  { accessReviews, request }: Gathering,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  if (ref === undefined) return undefined;
  const resource = { group: "multicluster.x-k8s.io", resource: "clusterprofiles" };
  return accessReviews.may(request.userInfo, { verb: "use", ...resource, ...ref }, signal);
}

async function applyFacts(
  { kind, namespace, name, spec, before }: Subject,
  { accessReviews, request, manifestRight = false }: Gathering,
  signal: AbortSignal,
): Promise<Pick<ComponentFacts, "mayApply" | "strongParts">> {
  const strongParts = manifestRight ? await newStrongParts(spec, before, signal) : [];
  if (strongParts.length === 0) return { mayApply: undefined, strongParts };
  const resource = { group: "operator.knative.dev", resource: componentKinds[kind].plural };
  const attempt = { verb: "apply-cluster-scoped", ...resource, namespace, name };
  const mayApply = await orUnknown(accessReviews.may(request.userInfo, attempt, signal));
  return { mayApply, strongParts };
}

type ClusterFacts = Pick<ComponentFacts, "profile" | "providers" | "pluginProblem">;

async function clusterFacts(
  ref: NonNullable<Subject["ref"]>,
  { facts, pluginRoots }: Gathering,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const [profile, files] = await Promise.all([
    orUnknown(facts.profile(ref, signal)),
    orUnknown(facts.providerFiles(signal)),
  ]);
  const known = files === "unknown" ? [] : files.map(({ file }) => file);
  const providers = known.length === 0 ? undefined : known;
  if (typeof profile !== "object")
    return { profile: profile ?? "absent", providers, pluginProblem: undefined };
  const tried = providers?.map((file) => providerFor(profile, file));
  const provider = tried?.flatMap((one) => (one instanceof FleetError ? [] : [one]))[0];
  const pluginProblem =
    provider === undefined || pluginRoots === undefined
      ? undefined
      : await pluginProblemOf(provider, pluginRoots);
  return { profile, providers, pluginProblem };
}

/** Why the plugin of a provider cannot be run here, by the rules of the controller; undefined when it can. Runs nothing. */
async function pluginProblemOf(
  { name, exec }: Provider,
  roots: readonly string[],
): Promise<string | undefined> {
  if (exec === undefined || exec.command.startsWith("builtin:")) return undefined;
  const plugin = `the plugin of provider ${JSON.stringify(name.slice(0, 64))}`;
  try {
    const file = await realpath(exec.command);
    await access(file, constants.X_OK);
    // The digest is checked when the plugin runs.
    const refused = await refusedPlugin(file, { roots }, undefined);
    return refused === undefined ? undefined : `${plugin} cannot be run: ${refused}`;
  } catch {
    return `${plugin} is missing, or cannot be executed`;
  }
}
