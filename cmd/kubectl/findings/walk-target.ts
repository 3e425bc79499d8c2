import type { Credential } from "../../../access/plugins/credential.ts";
import type { ResolvedAccess } from "../../../access/spokes/resolved-access.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import {
  type ClusterProfileRef,
  type Component,
  type ComponentKey,
  isComponentKind,
} from "../../../api/component.ts";
import { managedClusterOf } from "../../../api/delivery.ts";
import type { NamespacedName } from "../../../api/kubernetes.ts";
import { type Controllers, soleController } from "../hub/find-controller.ts";
import { servingOf } from "../hub/replicas.ts";
import { isSetTarget, type Target } from "./diagnosis.ts";
import { hubServer, requestFinding, spokeServer } from "./explain-error.ts";
import { checkDeletion, checkDuplicates, readComponent } from "./hops/component-hops.ts";
import { checkReplica } from "./hops/controller-hop.ts";
import { type Hop, type HopId, hopTitles } from "./hops/hop.ts";
import { describeCredential, readsSecret, runPlugin } from "./hops/plugin-hops.ts";
import { checkHealth, checkUpstream, readProfile } from "./hops/profile-hops.ts";
import {
  chooseProvider,
  type FoundFile,
  readProviderFile,
  resolveEndpoint,
  findUpstreamQuirks,
} from "./hops/provider-hops.ts";
import { withRenewal } from "./renewal.ts";
import { authenticate, spokeClient, type SpokeSession } from "./spoke-session.ts";
import type { HubWalk } from "./walk-hub.ts";
import { walkInstallation } from "./walk-installation.ts";
import { walkNetwork } from "./walk-network.ts";
import { walkSet } from "./walk-set.ts";
import { type StepValue, Walk, type WalkContext } from "./walk.ts";

interface WalkDeps {
  readonly walk: Walk;
  readonly hub: HubWalk;
  readonly context: WalkContext & { readonly closing: AsyncDisposableStack };
  /** What the walk has met so far. */
  readonly met: { profile?: ClusterProfile; isStored?: boolean };
}

/** The steps that were taken, and whether the last one was among them. */
interface TargetWalk {
  readonly hops: readonly Hop[];
  readonly finished: boolean;
  readonly ends: AccessEnds;
}

/** When the access to a cluster ends, in ms since 1970; undefined: not known, or without end. */
export interface AccessEnds {
  readonly credentialMs: number | undefined;
  /** Of the server's certificate. */
  readonly serverMs: number | undefined;
  /** Whether the credential is the content of a Secret. */
  readonly isStored: boolean;
}

/** Walks from the hub to the pods of a target. Returns the steps taken so far when the signal aborts. */
export async function walkTarget(
  target: Target,
  hub: HubWalk,
  { signal, ...context }: WalkContext & { readonly signal: AbortSignal },
): Promise<TargetWalk> {
  await using closing = new AsyncDisposableStack();
  const walk = new Walk({
    timeoutMsOf: (id) => timeoutMsOf(id, context),
    signal,
    explain: (id, error) =>
      requestFinding(error, isAtOrAfter("authentication", id) ? spokeServer : hubServer),
  });
  const deps: WalkDeps = { walk, hub, context: { ...context, closing }, met: {} };
  const walked = (finished: boolean): TargetWalk => ({
    hops: withRenewal(walk.hops, deps.met.profile),
    finished,
    ends: {
      credentialMs: walk.ends.get("credential"),
      serverMs: walk.ends.get("tls"),
      isStored: deps.met.isStored === true,
    },
  });
  try {
    await takeTargetSteps(target, deps);
    return walked(true);
  } catch (error) {
    if (!signal.aborted) throw error;
    return walked(false);
  }
}

async function takeTargetSteps(target: Target, deps: WalkDeps): Promise<void> {
  const { facts } = deps.hub;
  const { kind, namespace, name } = target;
  if (isSetTarget(target)) {
    const { hub, hubTimeoutMs } = deps.context;
    await walkSet(target, { walk: deps.walk, facts, access: { hub, hubTimeoutMs } });
    return;
  }
  if (!isComponentKind(kind)) {
    const found: StepValue<NamespacedName> = facts.ok ? { ok: true, value: target } : facts;
    await walkReplica(found, deps);
    await walkToSpoke(found, deps);
    return;
  }
  const component = await walkComponent({ kind, namespace, name }, deps);
  if (component.ok && managedClusterOf(component.value) !== undefined) {
    const { walkPulled } = await import("./walk-pulled.ts");
    if (await walkPulled(component, deps)) return;
  }
  const session = await openSession(component, deps);
  await walkInstallation(component, session, deps);
}

const ids = Object.keys(hopTitles);

/** Whether a step is `first` or comes after it. */
function isAtOrAfter(first: HopId, id: HopId): boolean {
  return ids.indexOf(id) >= ids.indexOf(first);
}

// The connection has a timeout of its own, whose error says more; it must come first.
const slackMs = 1_000;

function timeoutMsOf(
  id: HopId,
  { hubTimeoutMs, hopTimeoutMs, execTimeoutMs }: Omit<WalkContext, "signal">,
): number {
  if (!isAtOrAfter("file", id) || id === "conditions") return hubTimeoutMs;
  // When the plugin fails, the step also reads its Secret on the hub.
  if (id === "plugin") return execTimeoutMs + hubTimeoutMs;
  return hopTimeoutMs + slackMs;
}

async function walkComponent(key: ComponentKey, deps: WalkDeps): Promise<StepValue<Component>> {
  const { walk, hub, context } = deps;
  const component = await walk.take("component", [hub.kinds], (_, late) =>
    readComponent(key, context, late),
  );
  if (component.ok && component.value.metadata.deletionTimestamp !== undefined) {
    await walk.take("deletion", [component], ([value]) => checkDeletion(value, context));
  }
  await walk.take("twin", [component], ([value], late) => checkDuplicates(value, context, late));
  const ref = component.ok
    ? ({ ok: true, value: component.value.spec?.clusterProfileRef } as const)
    : component;
  await walkReplica(ref, deps);
  return component;
}

/** Names the replica where several share the fleet. With one shard the step of the controller has named the leader, and where nobody works it has said so. */
async function walkReplica(
  cluster: StepValue<ClusterProfileRef | undefined>,
  { walk, hub: { facts, controllers } }: WalkDeps,
): Promise<void> {
  if (!facts.ok || !controllers.ok) return;
  const { timeMs } = facts.value;
  const { leases = [], deployments } = controllers.value;
  const serving = servingOf(leases, timeMs);
  if (serving === undefined || serving.shards === 1 || serving.holders.size === 0) return;
  await walk.take("replica", [cluster], ([ref]) =>
    checkReplica(ref, serving, { deployments, timeMs }),
  );
}

/** Connects to the cluster of a component, which may be the hub itself. */
async function openSession(
  component: StepValue<Component>,
  deps: WalkDeps,
): Promise<StepValue<SpokeSession>> {
  if (!component.ok) return walkToSpoke(component, deps);
  const ref = component.value.spec?.clusterProfileRef;
  if (ref !== undefined) return walkToSpoke({ ok: true, value: ref }, deps);
  const { walk, context, hub } = deps;
  return walk.take("authentication", [hub.facts], (_, late) => authenticate(context.hub, late));
}

async function walkToSpoke(
  ref: StepValue<ClusterProfileRef>,
  deps: WalkDeps,
): Promise<StepValue<SpokeSession>> {
  const { walk, context } = deps;
  const [resolved, credential] = await walkProfile(ref, deps);
  const isReached = await walkNetwork(resolved, deps);
  return walk.take("authentication", [resolved, credential, isReached], ([access, value], late) =>
    authenticate(spokeClient(access, value, context), late),
  );
}

async function walkProfile(
  ref: StepValue<ClusterProfileRef>,
  { walk, hub, context, met }: WalkDeps,
): Promise<readonly [StepValue<ResolvedAccess>, StepValue<Credential>]> {
  const profile = await walk.take("profile", [ref], ([at], late) => readProfile(at, context, late));
  if (profile.ok) met.profile = profile.value;
  await walk.take("health", [profile], ([one]) => checkHealth(one));
  const controllers: Controllers | undefined = hub.controllers.ok
    ? hub.controllers.value
    : undefined;
  const file = await walk.take("file", [], (_, late) =>
    readProviderFile(controllers, context, late),
  );
  const provider = await walk.take("provider", [profile, file], ([one, found]) =>
    chooseProvider(one, found),
  );
  const operator = soleController(controllers?.deployments ?? [], "upstream");
  if (operator !== undefined) {
    await walk.take("upstream", [profile], async ([one], signal) => {
      const late = { ...context, signal };
      const result = await checkUpstream(one, operator, late);
      const quirks = provider.ok ? await findUpstreamQuirks(provider.value, late) : [];
      return { ...result, findings: [...(result.findings ?? []), ...quirks] };
    });
  }
  const resolved = await walk.take("endpoint", [profile, provider], ([one, chosen]) =>
    resolveEndpoint(one, chosen, context.now().getTime()),
  );
  met.isStored = resolved.ok && readsSecret(resolved.value.plan);
  const plugin = await takePlugin(resolved, file, { walk, context });
  const credential = await walk.take("credential", [plugin], ([one]) =>
    describeCredential(one, context.now().getTime()),
  );
  return [resolved, credential];
}

/** Runs the plugin of a way. The time of the step begins when the limit of plugins lets this one run. */
async function takePlugin(
  resolved: StepValue<ResolvedAccess>,
  file: StepValue<FoundFile>,
  { walk, context }: Pick<WalkDeps, "walk" | "context">,
): Promise<StepValue<Credential>> {
  using _place = resolved.ok ? await context.plugins.enter(resolved.value, walk.signal) : undefined;
  return await walk.take("plugin", [resolved, file], ([access, found], signal) =>
    runPlugin(access, found, { ...context, signal }),
  );
}
