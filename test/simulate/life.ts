import type { ComponentKind } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import { holdLabel, setLabels } from "../../api/fleet-set.ts";
import { keyOf, type Manifest } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import { type SimulatedCluster, userManager } from "./cluster.ts";
import { kinds, ownComponent, ownKey } from "./components.ts";
import { Deliveries } from "./deliveries.ts";
import { fieldEdit } from "./field-edits.ts";
import { profileKey, type SimulatedFleet } from "./fleet.ts";
import { pick } from "./random.ts";
import type { DeedKind, LifeEvent, Scenario } from "./scenario.ts";
import { Steers } from "./steers.ts";
import { ills, type Users } from "./users.ts";
import type { VirtualTime } from "./virtual-time.ts";

const minors = ["1.21", "1.22", "1.23"] as const;

/** How often a user looks whether something can be done now. */
const lookMs = 10_000;

const versionNotEligible = "VersionNotEligible";

/** A finalizer of somebody else. */
const pinFinalizer = "example.com/backup";

export interface LifeOptions {
  readonly time: VirtualTime;
  readonly fleet: SimulatedFleet;
  readonly users: readonly Users[];
  readonly scenario: Scenario;
  readonly note: (text: string) => void;
}

type SpecChange = (spec: Readonly<Record<string, unknown>>, kind: ComponentKind) => object;

/** What the users of a fleet do, and what others do on its spokes. */
export class Life {
  readonly #fleet: SimulatedFleet;
  readonly #users: readonly Users[];
  readonly #scenario: Scenario;
  readonly #note: (text: string) => void;
  readonly #time: VirtualTime;
  readonly #steers: Steers;
  readonly #deliveries: Deliveries;
  readonly #deeds: Readonly<Record<DeedKind, (dice: LifeEvent["dice"]) => void>> = {
    create: (dice) => this.#create(dice),
    version: (dice) => this.#editSpec(dice, this.#versionStep(dice[2])),
    config: (dice) => this.#editSpec(dice, (_, component) => fieldEdit(component, dice)),
    delete: (dice) => this.#delete(dice),
    move: (dice) => this.#move(dice),
    hold: (dice) => this.#hold(pick(this.#fleet.spokes, dice[0]), dice[1] < 0.6),
    pause: (dice) =>
      this.#steers.pause(pick(this.#scenario.sets, dice[0]), dice[1] < 0.5, dice[2] < 0.5),
    approve: () => this.#steers.approve(),
    retry: () => this.#when(() => this.#steers.retry()),
    undo: (dice) => this.#steers.undo(dice),
    abort: (dice) => this.#abort(dice),
    waver: (dice) => this.#waver(dice),
    ill: (dice) => this.#fallIll(dice),
    drift: (dice) => this.#drift(dice),
    pin: (dice) => this.#pin(dice),
    deliver: (dice) => this.#deliveries.move(dice),
    loseWork: (dice) => this.#deliveries.loseWork(dice[0]),
  };

  constructor({ time, fleet, users, scenario, note }: LifeOptions) {
    this.#time = time;
    this.#fleet = fleet;
    this.#users = users;
    this.#scenario = scenario;
    this.#note = note;
    this.#steers = new Steers(fleet.hub, scenario.sets, note);
    this.#deliveries = new Deliveries({ fleet, time, note });
  }

  /** Does what an event says, if that can be done now. */
  live(kind: DeedKind, dice: LifeEvent["dice"]): void {
    this.#deeds[kind](dice);
  }

  /** Lets every rollout go on: nothing is paused or held, and all users are content. One object of ours on each spoke is lost once more. */
  settle(): void {
    for (const kind of this.#scenario.sets) {
      for (const isBySpec of [true, false]) this.#steers.pause(kind, false, isBySpec);
    }
    for (const spoke of this.#fleet.spokes)
      for (const object of pinnedOn(spoke)) unpin(spoke, object);
    for (const spoke of this.#fleet.spokes) this.#hold(spoke, false);
    for (const users of this.#users) users.mend();
    // A first stage that began waits for a cluster when its last one was moved away.
    this.#moveTo(this.#fleet.spokes[0], "0");
    // In fine weather a loss is noticed by its watch, and by nothing else.
    for (const at of this.#fleet.spokes.keys()) {
      this.#drift([at / this.#fleet.spokes.length, 0, 0]);
    }
  }

  /** Approves what waits for it, gives back what was changed by hand, and tries again what failed, by what the sets say. */
  goOn(): void {
    this.#steers.approve();
    for (const kind of this.#scenario.sets) this.#giveBack(kind);
    // A restored cluster may be two minor versions away from the set, and only its user can choose the one between.
    for (const set of this.#steers.sets()) {
      const notable = JSON.stringify(valueAt(set, "status", "notable") ?? []);
      if (notable.includes(versionNotEligible)) this.#edit(set, () => ({ version: minors[1] }));
    }
    this.#steers.retry();
  }

  #create(dice: LifeEvent["dice"]): void {
    const own = kinds.filter((kind) => !this.#scenario.sets.includes(kind));
    const [kind, spoke] = [pick(own, dice[0]), pick(this.#fleet.spokes, dice[1])];
    if (kind === undefined || spoke === undefined) return;
    const component = ownComponent(kind, spoke.name, pick(minors, dice[2]) ?? "1.22");
    if (this.#fleet.hub.store.find(component) !== undefined) return;
    this.#say("creates", component);
    this.#fleet.hub.put(component);
  }

  /** Edits a set, or a component, whether a set has it or not. */
  #editSpec(dice: LifeEvent["dice"], changeOf: SpecChange): void {
    const own = pick(this.#ownComponents(), dice[0]);
    const edited = dice[1] < 0.6 ? (pick(this.#steers.sets(), dice[0]) ?? own) : own;
    if (edited !== undefined) this.#edit(edited, changeOf, dice[2]);
  }

  #stepVersion(edited: StoredObject | undefined, die: number): void {
    if (edited !== undefined) this.#edit(edited, this.#versionStep(die), die);
  }

  /** A version one minor step away, unless that is two steps from what a cluster has: Knative does not go there, and only the user could help. */
  #versionStep(die: number): SpecChange {
    return ({ version }, kind) => {
      const next = neighbourOf(version, die);
      const installed = [...this.#fleet.hub.store.everything()]
        .filter((object) => object.kind === kind)
        .map((object) => valueAt(object, "status", "version"))
        .filter((one) => one !== undefined);
      const isNear = installed.every((one) => Math.abs(minorAt(one) - minorAt(next)) <= 1);
      return { version: isNear ? next : version };
    };
  }

  #edit(edited: StoredObject, changeOf: SpecChange, die = 0): void {
    const isSet = edited.kind.endsWith("Set");
    const spec = valueAt(edited, ...(isSet ? ["spec", "template", "spec"] : ["spec"]));
    const isServing = edited.kind.startsWith("KnativeServing");
    const change = changeOf(Object(spec), isServing ? "KnativeServing" : "KnativeEventing");
    this.#say(`edits ${JSON.stringify(change)}`, edited);
    // Often who changes the set has an end with what was changed by hand; else the set is not let near it.
    if (isSet && die < 0.6) this.#giveBack(isServing ? "KnativeServing" : "KnativeEventing");
    const patch = isSet ? { template: { spec: change } } : change;
    this.#fleet.hub.patch(keyOf(edited), { spec: patch });
  }

  /** A user who has changed components of a set by hand owns these fields no more. The set has them when it writes next. */
  #giveBack(kind: ComponentKind): void {
    for (const component of this.#fleet.hub.store.all(`operator.knative.dev/${kind}`)) {
      const { labels, managedFields = [] } = component.metadata;
      const left = managedFields.filter(({ manager }) => manager !== userManager);
      if (labels?.[setLabels.set] === undefined || left.length === managedFields.length) continue;
      this.#say("gives back", component);
      this.#fleet.hub.patch(keyOf(component), { metadata: { managedFields: left } });
    }
  }

  #delete(dice: LifeEvent["dice"]): void {
    const component = pick(this.#ownComponents(), dice[0]);
    if (component === undefined) return;
    this.#say("deletes", component);
    this.#fleet.hub.remove(keyOf(component));
    // What a set has, the set makes again.
    const isOfSet = component.metadata.labels?.[setLabels.set] !== undefined;
    if (!isOfSet && dice[1] < 0.5) this.#createAgain(component);
  }

  /** As `kubectl replace --force`: the same component, as soon as the old one is gone. */
  #createAgain({ apiVersion, kind, metadata, ...content }: StoredObject): void {
    const { name, namespace = "" } = metadata;
    const again = { apiVersion, kind, metadata: { name, namespace }, spec: content["spec"] };
    this.#when(() => {
      if (this.#fleet.hub.store.find(again) !== undefined) return false;
      this.#say("creates again", again);
      this.#fleet.hub.put(again);
      return true;
    });
  }

  #move(dice: LifeEvent["dice"]): void {
    this.#moveTo(pick(this.#fleet.spokes, dice[0]), dice[1] < 0.5 ? "0" : "1");
  }

  #moveTo(spoke: SimulatedCluster | undefined, ring: string): void {
    if (spoke === undefined) return;
    this.#note(`the user moves ${spoke.name} to ring ${ring}`);
    this.#fleet.hub.patch(profileKey(spoke.name), { metadata: { labels: { ring } } });
  }

  #hold(spoke: SimulatedCluster | undefined, isHeld: boolean): void {
    if (spoke === undefined) return;
    this.#note(`the user ${isHeld ? "holds" : "lets go of"} ${spoke.name}`);
    const labels = { [holdLabel]: isHeld ? "true" : null };
    this.#fleet.hub.patch(profileKey(spoke.name), { metadata: { labels } });
  }

  /** The user changes a set, and changes it again while the first cluster takes that up. */
  #waver([first, second, third]: LifeEvent["dice"]): void {
    const set = pick(this.#steers.sets(), first);
    if (set === undefined) return;
    this.#stepVersion(set, second);
    this.#steers.onNextStamp(() => {
      this.#time.after(third * 20_000, () =>
        this.#stepVersion(this.#fleet.hub.store.find(set), 1 - second),
      );
    });
  }

  /** The user ends a rollout: now, or while its next cluster changes. */
  #abort([first, second, third]: LifeEvent["dice"]): void {
    if (second < 0.3) return this.#steers.abort(first);
    this.#steers.onNextStamp(() => {
      this.#time.after(third * 10_000, () => this.#steers.abort(first));
    });
  }

  /** Does something as soon as it can be done, within some minutes. */
  #when(tryOut: () => boolean, triesLeft = 30): void {
    if (tryOut() || triesLeft === 0) return;
    this.#time.after(lookMs, () => this.#when(tryOut, triesLeft - 1));
  }

  /** Somebody has a finalizer on an object of ours for a time: until then, it does not go when it is deleted. */
  #pin(dice: LifeEvent["dice"]): void {
    const spoke = pick(this.#fleet.spokes, dice[0]);
    const object = spoke && pick(driftable(spoke), dice[1]);
    if (spoke === undefined || object === undefined) return;
    this.#note(`somebody pins ${object.kind} ${object.metadata.name} on ${spoke.name}`);
    spoke.patch(keyOf(object), { metadata: { finalizers: [pinFinalizer] } });
    this.#time.after(dice[2] * 400_000, () => unpin(spoke, object));
  }

  /** Something breaks for the users of a spoke: at once, or by an upgrade that a user begins. */
  #fallIll(dice: LifeEvent["dice"]): void {
    // More often those of the first clusters, for which the others wait.
    const users = pick(this.#users, dice[0] ** 2);
    const ill = pick(ills, dice[1]);
    if (users === undefined || ill === undefined) return;
    const ms = 60_000 + dice[2] * 400_000;
    this.#note(`${ill} of the users of ${users.cluster.name} will be wrong`);
    if (dice[2] < 0.3) return users.break(ill, ms);
    users.arm(ill, ((dice[1] * ills.length) % 1) ** 2 * 60_000, ms);
    this.#stepVersion(pick(this.#steers.sets(), dice[2]), dice[2]);
  }

  /** Somebody on a spoke deletes an object of ours, takes our label off it, or changes a field that we own. */
  #drift(dice: LifeEvent["dice"]): void {
    const spoke = pick(this.#fleet.spokes, dice[0]);
    const object = spoke && pick(driftable(spoke), dice[1]);
    if (spoke === undefined || object === undefined) return;
    const { kind, metadata } = object;
    const say = (does: string): void =>
      this.#note(`somebody ${does} ${kind} ${metadata.name} on ${spoke.name}`);
    if (dice[2] < 0.5) {
      say("deletes");
      spoke.remove(keyOf(object));
    } else if (dice[2] < 0.7) {
      say("unlabels");
      spoke.patch(keyOf(object), { metadata: { labels: { [componentUidLabel]: null } } });
    } else {
      say("changes");
      spoke.patch(keyOf(object), changeOfOurs(object));
    }
  }

  #ownComponents(): readonly StoredObject[] {
    const { hub, spokes } = this.#fleet;
    const found = kinds.flatMap((kind) =>
      spokes.flatMap(({ name }) => {
        const key = ownKey(kind, name);
        return hub.store.find({ ...key, metadata: key }) ?? [];
      }),
    );
    return found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  #say(what: string, { kind, metadata }: Manifest): void {
    this.#note(`the user ${what} ${kind} ${metadata.name}`);
  }
}

function pinnedOn({ store }: SimulatedCluster): readonly StoredObject[] {
  return [...store.everything()].filter(
    ({ metadata }) => metadata.finalizers?.includes(pinFinalizer) === true,
  );
}

function unpin(spoke: SimulatedCluster, object: StoredObject): void {
  spoke.patch(keyOf(object), { metadata: { finalizers: null } });
}

const driftableKinds = ["ConfigMap", "Service", "ServiceAccount", "ClusterRole", "Deployment"];

/** The objects of ours on a spoke that others may change: not the anchor, whose deletion means something. */
function driftable({ store }: SimulatedCluster): readonly StoredObject[] {
  return [...store.everything()].filter(
    ({ kind, metadata: { name, labels } }) =>
      driftableKinds.includes(kind) &&
      labels?.[componentUidLabel] !== undefined &&
      !name.endsWith("-root-owner"),
  );
}

/** Another value for what we write: for data where there is some, else for a label. */
function changeOfOurs({ data }: StoredObject): object {
  const [key] = Object.keys(isRecord(data) ? data : {});
  const labels = { "app.kubernetes.io/name": "changed" };
  return key === undefined ? { metadata: { labels } } : { data: { [key]: "changed" } };
}

/** A version one minor step away, as upgrades and their reversal go. */
function neighbourOf(version: unknown, die: number): string {
  const next = minorAt(version) + (die < 0.7 ? 1 : -1);
  return minors[Math.min(minors.length - 1, Math.max(0, next))] ?? "1.22";
}

function minorAt(version: unknown): number {
  return minors.findIndex((minor) => String(version).startsWith(minor));
}
