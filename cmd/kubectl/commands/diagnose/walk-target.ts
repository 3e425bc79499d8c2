import type { Credential } from "../../../../access/plugins/credential.ts";
import type { ResolvedAccess } from "../../../../access/spokes/resolved-access.ts";
import { guardOf } from "../../../../access/spokes/spoke-deps.ts";
import type { ClusterProfileRef, Component, ComponentKey } from "../../../../api/component.ts";
import type { NamespacedName } from "../../../../api/kubernetes.ts";
import { type Controllers, variableOf } from "../../hub/find-controller.ts";
import { kubectlOn, words } from "../../output/steps.ts";
import type { Target } from "./diagnosis.ts";
import { hubServer, requestFinding, spokeServer } from "./explain-error.ts";
import {
  checkConditions,
  checkDeletion,
  checkDuplicates,
  type HearRefusal,
  readComponent,
} from "./hops/component-hops.ts";
import { type Hop, type HopId, hopTitles } from "./hops/hop.ts";
import {
  checkDeployments,
  checkObjects,
  checkVersion,
  findAnchor,
} from "./hops/installation-hops.ts";
import { checkName, checkProxy, checkTcp, checkTls } from "./hops/network-hops.ts";
import { describeCredential, runPlugin } from "./hops/plugin-hops.ts";
import { checkHealth, checkUpstream, readProfile } from "./hops/profile-hops.ts";
import {
  chooseProvider,
  type FoundFile,
  readProviderFile,
  resolveEndpoint,
  upstreamQuirks,
} from "./hops/provider-hops.ts";
import { checkGuard, checkPods, checkRights } from "./hops/spoke-hops.ts";
import { authenticate, spokeClient, type SpokeSession } from "./spoke-session.ts";
import type { HubWalk } from "./walk-hub.ts";
import { type Had, Walk, type WalkContext } from "./walk.ts";

interface Way {
  readonly walk: Walk;
  readonly hub: HubWalk;
  readonly context: WalkContext & { readonly ending: AsyncDisposableStack };
}

/** The steps that were taken, and whether they are all there are. */
interface TargetWalk {
  readonly hops: readonly Hop[];
  readonly finished: boolean;
}

/** Walks from the hub to the pods of a target, as far as it gets until the signal aborts. */
export async function walkTarget(
  target: Target,
  hub: HubWalk,
  { signal, ...context }: WalkContext & { readonly signal: AbortSignal },
): Promise<TargetWalk> {
  await using ending = new AsyncDisposableStack();
  const walk = new Walk({
    timeoutMsOf: (id) => timeoutMsOf(id, context),
    signal,
    explain: (id, error) =>
      requestFinding(error, isFrom("authentication", id) ? spokeServer : hubServer),
  });
  const way: Way = { walk, hub, context: { ...context, ending } };
  try {
    await walkWay(target, way);
    return { hops: walk.hops, finished: true };
  } catch (error) {
    if (!signal.aborted) throw error;
    return { hops: walk.hops, finished: false };
  }
}

async function walkWay(target: Target, way: Way): Promise<void> {
  const { facts } = way.hub;
  if (target.kind === "ClusterProfile") {
    const found: Had<NamespacedName> = facts.ok ? { ok: true, value: target } : facts;
    await walkToSpoke(found, way);
    return;
  }
  const { kind, namespace, name } = target;
  const component = await walkComponent({ kind, namespace, name }, way);
  const session = await sessionOf(component, way);
  await walkInstallation(component, session, way);
}

const ids = Object.keys(hopTitles);

/** Whether a step is another one or comes after it. */
function isFrom(first: HopId, id: HopId): boolean {
  return ids.indexOf(id) >= ids.indexOf(first);
}

// A step ends by itself a little earlier, with a better word.
const slackMs = 1_000;

function timeoutMsOf(
  id: HopId,
  { hubTimeoutMs, hopTimeoutMs, execTimeoutMs }: Omit<WalkContext, "signal">,
): number {
  if (!isFrom("file", id) || id === "conditions") return hubTimeoutMs;
  // Looks at its Secret on the hub when it fails.
  if (id === "plugin") return execTimeoutMs + hubTimeoutMs;
  return hopTimeoutMs + slackMs;
}

async function walkComponent(
  key: ComponentKey,
  { walk, hub, context }: Way,
): Promise<Had<Component>> {
  const component = await walk.take("component", [hub.kinds], (_, late) =>
    readComponent(key, context, late),
  );
  if (component.ok && component.value.metadata.deletionTimestamp !== undefined) {
    await walk.take("deletion", [component], ([one]) => checkDeletion(one, context));
  }
  await walk.take("twin", [component], ([one], late) => checkDuplicates(one, context, late));
  return component;
}

/** A connection to the cluster of a component; on the hub itself that is the hub's. */
async function sessionOf(component: Had<Component>, way: Way): Promise<Had<SpokeSession>> {
  if (!component.ok) return walkToSpoke(component, way);
  const ref = component.value.spec?.clusterProfileRef;
  if (ref !== undefined) return walkToSpoke({ ok: true, value: ref }, way);
  const { walk, context, hub } = way;
  const session = await walk.take("authentication", [hub.facts], (_, late) =>
    authenticate(context.hub, late),
  );
  return session;
}

async function walkToSpoke(ref: Had<ClusterProfileRef>, way: Way): Promise<Had<SpokeSession>> {
  const { walk, context } = way;
  const access = await walkProfile(ref, way);
  const [resolved, credential] = access;
  await walkNetwork(resolved, way);
  const tls = walk.hops.find(({ id }) => id === "tls");
  const isReached: Had<true> =
    tls?.state === "OK" || tls?.state === "WARN"
      ? { ok: true, value: true }
      : { ok: false, because: tls?.because ?? "tls" };
  return walk.take("authentication", [resolved, credential, isReached], ([at, as], late) =>
    authenticate(spokeClient(at, as, context), late),
  );
}

async function walkProfile(
  ref: Had<ClusterProfileRef>,
  { walk, hub, context }: Way,
): Promise<readonly [Had<ResolvedAccess>, Had<Credential>]> {
  const profile = await walk.take("profile", [ref], ([at], late) => readProfile(at, context, late));
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
  const operator = controllers?.deployments?.find(({ flavour }) => flavour === "upstream");
  if (operator !== undefined) {
    await walk.take("upstream", [profile], async ([one], signal) => {
      const late = { ...context, signal };
      const result = await checkUpstream(one, operator, late);
      const quirks = provider.ok ? await upstreamQuirks(provider.value, late) : [];
      return { ...result, findings: [...(result.findings ?? []), ...quirks] };
    });
  }
  const resolved = await walk.take("endpoint", [profile, provider], ([one, chosen]) =>
    resolveEndpoint(one, chosen),
  );
  const plugin = await takePlugin(resolved, file, { walk, context });
  const credential = await walk.take("credential", [plugin], ([one]) =>
    describeCredential(one, context.now().getTime()),
  );
  return [resolved, credential];
}

/** The wait for a place among the plugins of this command is no time of the step. */
async function takePlugin(
  resolved: Had<ResolvedAccess>,
  file: Had<FoundFile>,
  { walk, context }: Pick<Way, "walk" | "context">,
): Promise<Had<Credential>> {
  using _place = resolved.ok ? await context.plugins.enter(resolved.value, walk.signal) : undefined;
  return await walk.take("plugin", [resolved, file], ([access, found], signal) =>
    runPlugin(access, found, { ...context, signal }),
  );
}

async function walkNetwork(resolved: Had<ResolvedAccess>, { walk, context }: Way): Promise<void> {
  const { environment, hopTimeoutMs: timeoutMs } = context;
  const limitsOf = (access: ResolvedAccess, signal: AbortSignal) => ({
    guard: guardOf(access, { environment }),
    timeoutMs,
    signal,
  });
  const dns = await walk.take("dns", [resolved], ([access], late) =>
    checkName(access.endpoint, limitsOf(access, late)),
  );
  const tcp = await walk.take("tcp", [resolved, dns], ([access], late) =>
    checkTcp(access.endpoint, limitsOf(access, late)),
  );
  const hasProxy = resolved.ok && resolved.value.endpoint.proxy !== undefined;
  const open = hasProxy
    ? await walk.take("proxy", [resolved, tcp], ([access], late) =>
        checkProxy(access.endpoint, limitsOf(access, late)),
      )
    : tcp;
  if (resolved.ok && resolved.value.endpoint.server.startsWith("http:")) {
    walk.skip("tls", "the server is plain http");
    return;
  }
  await walk.take("tls", [resolved, open], ([access], late) =>
    checkTls(access.endpoint, limitsOf(access, late), context.now().getTime()),
  );
}

async function walkInstallation(
  component: Had<Component>,
  session: Had<SpokeSession>,
  { walk, hub, context }: Way,
): Promise<void> {
  const controllers = hub.controllers.ok ? hub.controllers.value : undefined;
  await walk.take("authorization", [session], ([one], late) => checkRights(one, late));
  const ours = controllers?.deployments?.find(({ flavour }) => flavour === "knfleet");
  const name = "KUBERNETES_MIN_VERSION";
  const least = (ours && variableOf(ours, name)) ?? context.environment[name];
  await walk.take("version", [session], ([one]) => checkVersion(one, least));
  const installed = await walk.take("anchor", [component, session], ([one, at], signal) =>
    findAnchor(one, at, signal),
  );
  const anchor = installed.ok ? installed.value.anchor : undefined;
  if (anchor !== undefined) {
    await walk.take("guard", [component, session], ([one, { client }], signal) =>
      checkGuard(one, anchor, { client, signal, now: context.now() }),
    );
  }
  await walk.take("objects", [component, installed, session], ([one, found, at], signal) =>
    checkObjects(one, found, { client: at.client, signal }),
  );
  const waiting = await walk.take("deployments", [component, installed], ([one, found]) =>
    checkDeployments(one, found),
  );
  await walk.take("pods", [waiting, session, component], ([some, { client }, one], late) =>
    checkPods(some, { client, kubectl: kubectlOn(one.spec?.clusterProfileRef) }, late),
  );
  await walk.take("conditions", [component], ([one], signal) => {
    const { kind, metadata } = one;
    const target = `${kind.toLowerCase()}/${metadata.name}`;
    const compare = words("kubectl", "knfleet", "diff", target, "-n", metadata.namespace);
    return checkConditions(one, { compare, hear: hearingOf(one, session, { ...context, signal }) });
  });
}

/** Asks the spoke, where the walk got that far and there are releases. */
function hearingOf(
  component: Component,
  session: Had<SpokeSession>,
  { rendering: open, signal }: Pick<WalkContext, "rendering"> & { readonly signal: AbortSignal },
): HearRefusal {
  return async (message) => {
    const rendering = session.ok ? await open?.() : undefined;
    if (!session.ok || rendering === undefined) return undefined;
    const { refusalWords } = await import("./hops/refused-object.ts");
    return refusalWords({ component, message, rendering, client: session.value.client }, signal);
  };
}
