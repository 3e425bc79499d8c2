import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import {
  installationNamespace,
  type SpokeNamespaceMode,
} from "../../../installation/installation-namespace.ts";
import { BoundedCache, type Releases, type Rendered } from "../../../render/release/releases.ts";
import { isCustom } from "../../../render/release/user-manifests.ts";
import {
  assertEligible,
  customVersion,
  targetVersion,
  unavailable,
  versionRefusal,
} from "../../../render/release/version.ts";
import { type Remark, type RemarksOptions, remarksOn } from "../../../render/remarks/remarks.ts";
import { render } from "../../../render/render.ts";
import type { RenderCheck, RenderFindings, Problem } from "../rule.ts";
import { countValues, isHeavy } from "../shape.ts";
import { patchProblems, renderedProblems } from "./rendered-problems.ts";

export interface ComponentProblemsOptions {
  /** Absent: the webhook runs beside another operator, and only the texts of versions are checked. */
  readonly releases: Releases | undefined;
  /** That of the controller. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** That of the controller. */
  readonly spokeNamespace: SpokeNamespaceMode;
}

// Larger specs render to larger results, which are not kept.
const keptLength = 64 * 1024;

// One value costs a rendering, which costs the more the larger the spec is.
const maxTriedValues = 150;
const affordable = 45_000;

/** What the manifests of a component cannot change much: their objects are not known here. */
const releaseRemarks = new Set<Remark["kind"]>(["config-key", "images"]);

/**
 * Finds what the controller would refuse about a component: whether its version can be installed, and whether its release can be rendered
 * with its settings. Nothing is fetched, so manifests of the user are not checked.
 */
export function componentProblems({
  releases,
  environment,
  spokeNamespace,
}: ComponentProblemsOptions): RenderCheck {
  if (releases === undefined) return async (component) => findingsBesideOthers(component);
  const forgetful = { ...releases, rendered: new BoundedCache<Rendered>(1) };
  const rendered = (component: Component, namespace: string): Promise<Rendered> =>
    render(component, isLarge(component) ? forgetful : releases, { environment, namespace });
  return async (component, signal, early = signal) => {
    const available = releases.versionsOf(component.kind);
    const { target, problem } = versionOf(component, available);
    const version = problem === undefined ? [] : [{ path: "spec.version", message: problem }];
    if (isHeavy(component.spec ?? {})) return { ...nothing, version };
    if (isCustom(component)) {
      return { ...nothing, version, patches: await patchProblems(component, undefined, signal) };
    }
    // When the version is wrong, the rest of the spec is checked against the newest release, so that all problems are told at once.
    const tried = problem === undefined ? target : available[0];
    if (tried === undefined) return { ...nothing, version };
    const plain = plainOf(component, tried);
    // The cluster is not asked where the installation is.
    const namespace = installationNamespace(component, spokeNamespace);
    const others = await problemsOf(async () => {
      const { manifests } = await rendered(plain, namespace);
      return renderedProblems(plain, manifests);
    });
    signal.throwIfAborted();
    const isWhole = others.length === 0 && !bringsManifests(component);
    const renderIn = async (where: string): Promise<readonly Manifest[]> =>
      (await rendered(plain, where)).manifests;
    // An existing installation may be in the component's own namespace.
    const namespaces = new Set([namespace, component.metadata.namespace]);
    const whole = isWhole ? { namespaces, renderIn } : undefined;
    const patches = await patchProblems(component, whole, signal);
    if (problem !== undefined) return { ...nothing, version, patches, others };
    if (others.length > 0) return { version, patches, others, target: tried, remarks: [] };
    const whatToTry = { releases, version: tried, signal: early };
    const remarks = await remarksAbout(component, plain, whatToTry);
    return { version, patches, others, target: tried, remarks };
  };
}

/** Of a component that adds manifests, only what its release says. */
async function remarksAbout(
  component: Component,
  plain: Component,
  options: RemarksOptions,
): Promise<readonly Remark[]> {
  const isWhole = !bringsManifests(component);
  const perValue = Math.max(1, countValues(component.spec ?? {}));
  const maxValues = isWhole ? Math.min(maxTriedValues, Math.floor(affordable / perValue)) : 0;
  const found = await remarksOn(withPatchesOf(component, plain), { ...options, maxValues });
  return isWhole ? found : found.filter(({ kind }) => releaseRemarks.has(kind));
}

function bringsManifests({ spec }: Component): boolean {
  return (spec?.additionalManifests ?? []).length > 0;
}

function isLarge({ spec }: Component): boolean {
  return JSON.stringify(spec).length > keptLength;
}

const nothing: RenderFindings = {
  version: [],
  patches: [],
  others: [],
  target: undefined,
  remarks: [],
};

interface Version {
  readonly target: string | undefined;
  readonly problem: string | undefined;
}

function versionOf(component: Component, available: readonly string[]): Version {
  const { kind, spec, status } = component;
  const isOwn = isCustom(component);
  try {
    const target = (isOwn ? customVersion : targetVersion)(spec?.version, available, kind);
    assertEligible({ kind, installed: status?.version, target });
    if (isOwn || available.includes(target)) return { target, problem: undefined };
    return { target: undefined, problem: unavailable(target, available) };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const problem =
      isOwn && (spec?.version ?? "") === ""
        ? "is required together with spec.manifests, whose version nobody else knows"
        : error.message;
    return { target: undefined, problem };
  }
}

/** The versions of another operator are not known; which versions may follow each other is. */
function findingsBesideOthers(component: Component): RenderFindings {
  if (isCustom(component) && (component.spec?.version ?? "") === "") {
    return wrongVersion("is required together with spec.manifests");
  }
  const refusal = versionRefusal(component);
  return refusal === undefined ? nothing : wrongVersion(refusal.message);
}

function wrongVersion(message: string): RenderFindings {
  return { ...nothing, version: [{ path: "spec.version", message }] };
}

/** The component as it is rendered: its name and cluster change nothing that can be wrong, and its patches are checked on their own. */
function plainOf({ status: _status, ...component }: Component, version: string): Component {
  const metadata = { ...component.metadata, name: "component" };
  if (component.kind === "KnativeServing") {
    const spec = { ...withoutPatches(component.spec ?? {}), version };
    return { ...component, metadata, spec };
  }
  return { ...component, metadata, spec: { ...withoutPatches(component.spec ?? {}), version } };
}

/** A plain component with the patches of its original, which may do what is remarked otherwise. */
function withPatchesOf({ spec }: Component, plain: Component): Component {
  const { patches } = spec ?? {};
  if (patches === undefined) return plain;
  return plain.kind === "KnativeServing"
    ? { ...plain, spec: { ...plain.spec, patches } }
    : { ...plain, spec: { ...plain.spec, patches } };
}

function withoutPatches<Spec extends NonNullable<Component["spec"]>>({
  additionalManifests: _manifests,
  clusterProfileRef: _ref,
  patches: _patches,
  ...spec
}: Spec) {
  return spec;
}

async function problemsOf(work: () => Promise<readonly Problem[]>): Promise<readonly Problem[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FleetError) return [problemOf(error)];
    throw error;
  }
}

/** The field that is the cause of a message of the renderer. */
const causes: readonly (readonly [pattern: RegExp, field: (name: string) => string])[] = [
  [/security.guard/, () => "spec.security.securityGuard.enabled"],
  [/ingress\/[\w.]+\/([\w-]+)/, (name) => `spec.ingress.${name}`],
  [/eventing-source\/[\w.]+\/([\w-]+)/, (name) => `spec.source.${name}`],
  [/default-br-config/, () => "spec.config"],
];

function problemOf({ reason, message }: FleetError): Problem {
  const [, named = "", what = ""] = /^(spec[\w.[\]-]*): ([^]*)$/.exec(message) ?? [];
  if (named !== "") return { path: named, message: what };
  for (const [pattern, field] of causes) {
    const found = pattern.exec(message);
    if (found !== null) return { path: field(found[1] ?? ""), message };
  }
  return { path: reason === "ReleaseNotFound" ? "spec.version" : "spec", message };
}
