import { randomUUID } from "node:crypto";

import { connectHub } from "../../../access/hub/hub.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Clock } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component, KnativeEventing, KnativeServing } from "../../../api/component.ts";
import { objectId } from "../../../api/keys.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import type { Anchor, SeenAnchor } from "../../../controller/apply/anchor/anchor.ts";
import type { ChangeSet, Progress } from "../../../controller/apply/change-set.ts";
import type { AnchorGate, InstallDeps } from "../../../controller/apply/install-attempt.ts";
import { withAudit } from "../../../controller/apply/install-state.ts";
import { install } from "../../../controller/apply/install.ts";
import { InstallationMemory } from "../../../controller/apply/installation-memory.ts";
import type { Unblocked } from "../../../controller/apply/unblock.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { observe } from "../../../controller/observe/observe.ts";
import type { PendingChanges } from "../../../controller/queue/pending-changes.ts";
import { Neighbours } from "../../../controller/reconcile/neighbours.ts";
import type { Target } from "../../../controller/target/target.ts";
import { Preparations } from "../../../installation/desired.ts";
import { isUnwanted } from "../../../installation/strays.ts";
import type { Releases } from "../../../render/release/releases.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import { render } from "../../../render/render.ts";
import { releaseDir } from "../../e2e/release-dir.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import { connectionTo } from "../../support/connection-to.ts";
import { silentLog } from "../../support/silent-log.ts";

/** User agent of the engine under test, as the audit log shows it. */
export const userAgent = "knfleet-test-engine/1";

interface ComponentFields {
  readonly uid?: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A KnativeServing as the hub would hold it. */
export function serving(
  spec: NonNullable<KnativeServing["spec"]>,
  fields: ComponentFields = {},
): KnativeServing {
  return { ...identity("knative-serving", fields), kind: "KnativeServing", spec };
}

/** A KnativeEventing as the hub would hold it. */
export function eventing(
  spec: NonNullable<KnativeEventing["spec"]>,
  fields: ComponentFields = {},
): KnativeEventing {
  return { ...identity("knative-eventing", fields), kind: "KnativeEventing", spec };
}

function identity(name: string, fields: ComponentFields) {
  const { namespace = name, uid = randomUUID(), annotations } = fields;
  const apiVersion = "operator.knative.dev/v1beta1" as const;
  const marks = annotations === undefined ? {} : { annotations };
  return { apiVersion, metadata: { name, namespace, uid, resourceVersion: "1", ...marks } };
}

/** What the controller does with one component on one spoke, without the controller. */
export class Installer implements AsyncDisposable {
  readonly client: KubeClient;
  readonly target: Target;
  readonly component: Component;
  readonly changes: ObservedChange[] = [];
  readonly #releases: Releases;
  readonly #preparations = new Preparations();
  readonly #clock: Clock;
  readonly #neighbours: Neighbours;
  #observation: Observation;
  #memory = new InstallationMemory();

  constructor(options: InstallerOptions) {
    const { client, releases, component, hubId = "hub-a", isLocal = false } = options;
    this.#clock = options.clock ?? systemClock;
    this.#neighbours = new Neighbours(this.#clock);
    this.client = client;
    this.#releases = releases;
    this.component = component;
    const { namespace } = component.metadata;
    const profile = { namespace: "fleet", name: "spoke-1" };
    const target = { client, namespace, fieldManager: `knfleet-${hubId}`, hubId };
    this.target = isLocal ? target : { ...target, profile };
    this.#observation = this.#observe();
  }

  get observation(): Observation {
    return this.#observation;
  }

  async rendered(component: Component = this.component): Promise<Rendered> {
    return render(component, this.#releases);
  }

  async install(options: InstallOptions = {}): Promise<ChangeSet> {
    const component = options.component ?? this.component;
    const rendered = options.rendered ?? (await this.rendered(component));
    const { target } = this;
    const { onProgress, onUnblocked, onAdopted, targetCheck, assertFirst, pendingChanges } =
      options;
    const { isNew = false, all, gate } = options;
    const known = { observation: this.#observation, memory: this.#memory };
    return install(
      { component, rendered, target, ...known, isNew },
      {
        log: silentLog,
        clock: options.clock ?? this.#clock,
        preparations: this.#preparations,
        onProgress,
        onAdopted,
        beforeFirstWrite: targetCheck && (() => targetCheck.then((): SeenAnchor => "unknown")),
        gate,
        pendingChanges,
        onUnblocked,
        assertFirst,
        ...(all === undefined ? {} : this.#neighbourhood(all, rendered)),
      },
      options.signal ?? AbortSignal.timeout(100_000),
    );
  }

  #neighbourhood(
    all: readonly Component[],
    { manifests }: Rendered,
  ): Pick<InstallDeps, "assertFirst" | "holders"> {
    const { component, target } = this;
    const newcomer = { component, target, connection: connectionTo(target, this.#clock) };
    const isOurs = (one: Manifest): boolean => !this.#memory.state.left.has(objectId(keyOf(one)));
    return {
      assertFirst: (making, signal) => {
        const wanted = { ...newcomer, manifests: manifests.filter(isOurs) };
        return this.#neighbours.assertFirst(wanted, { making, all: () => all }, signal);
      },
      holders: (question, signal) =>
        this.#neighbours.holders(newcomer, { ...question, all: () => all }, signal),
    };
  }

  /** The next install sends again what seems to be right. */
  audit(): void {
    this.#memory.become(withAudit);
  }

  /** Another process for the same component, which knows nothing and reaches the spoke through another client. */
  beside(client: KubeClient): Installer {
    const { hubId, profile } = this.target;
    const isLocal = profile === undefined;
    return new Installer({
      client,
      releases: this.#releases,
      component: this.component,
      hubId,
      isLocal,
    });
  }

  /** The controller begins anew and knows nothing but what the spoke says. */
  async restart(): Promise<void> {
    await this.#observation[Symbol.asyncDispose]();
    this.#observation = this.#observe();
    this.#memory = new InstallationMemory();
    this.changes.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#observation[Symbol.asyncDispose]();
  }

  #observe(): Observation {
    return observe({
      clock: this.#clock,
      client: this.client,
      componentUid: this.component.metadata.uid,
      watches: connectionTo(this.target, this.#clock).watches,
      onChange: (change) => this.changes.push(change),
      isUnwanted: (key) =>
        isUnwanted(key, { component: this.component, wanted: this.#memory.state.desired }),
      log: silentLog,
    });
  }
}

export interface InstallerOptions {
  readonly client: KubeClient;
  readonly releases: Releases;
  readonly component: Component;
  readonly hubId?: string;
  /** The component is installed on the hub itself. */
  readonly isLocal?: boolean;
  /** Default: the clock of this machine. */
  readonly clock?: Clock;
}

export interface InstallOptions {
  readonly component?: Component;
  readonly rendered?: Rendered;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly onUnblocked?: (unblocked: Unblocked) => void;
  readonly onAdopted?: (count: number) => void;
  readonly targetCheck?: Promise<void>;
  /** Absent: anchors are not protected. */
  readonly gate?: AnchorGate;
  readonly pendingChanges?: PendingChanges;
  readonly assertFirst?: (making: Promise<Anchor>, signal: AbortSignal) => Promise<void>;
  readonly isNew?: boolean;
  /** All components of the hub, which share no objects with this one then. */
  readonly all?: readonly Component[];
  readonly clock?: Clock;
}

/** An installer with a connection of its own to a spoke. */
export async function openInstaller(
  spoke: Cluster,
  {
    kubeconfig,
    ...options
  }: Omit<InstallerOptions, "client" | "releases"> & {
    /** File to connect with, instead of the rights of the recommended role on a spoke. */
    readonly kubeconfig?: string;
  },
): Promise<AsyncDisposable & { readonly installer: Installer }> {
  await using stack = new AsyncDisposableStack();
  const { client } = stack.use(
    await connectHub({
      clock: options.clock ?? systemClock,
      kubeconfig: kubeconfig ?? (await spokeKubeconfig(spoke)),
      environment: {},
      userAgent,
    }),
  );
  const installer = stack.use(
    new Installer({ client, releases: await openReleases(await releaseDir()), ...options }),
  );
  const owned = stack.move();
  return { installer, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A kubeconfig with the rights of the recommended role and no others. `server` may be a proxy. */
async function spokeKubeconfig(spoke: Cluster, server = spoke.server): Promise<string> {
  const { token } = await spoke.serviceAccountToken({
    namespace: "knfleet",
    name: "knfleet-hub",
    clusterRoles: ["knfleet-spoke"],
  });
  return spoke.writeKubeconfig("engine.kubeconfig", { identity: { token }, server });
}
