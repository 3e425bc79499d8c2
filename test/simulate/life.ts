import type { ComponentKind } from "../../api/component.ts";
import { holdLabel, steering } from "../../api/fleet-set.ts";
import { keyOf, type Manifest } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { kinds, ownComponent, ownKey, setKey } from "./components.ts";
import { fieldEdit } from "./field-edits.ts";
import { profileKey, type SimulatedFleet } from "./fleet.ts";
import type { DeedKind, LifeEvent, Scenario } from "./scenario.ts";
import { ills, type Users } from "./users.ts";

const minors = ["1.21", "1.22", "1.23"] as const;

export interface LifeOptions {
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

  constructor({ fleet, users, scenario, note }: LifeOptions) {
    this.#fleet = fleet;
    this.#users = users;
    this.#scenario = scenario;
    this.#note = note;
  }

  /** Does what an event says, if that can be done now. */
  live(kind: DeedKind, dice: LifeEvent["dice"]): void {
    switch (kind) {
      case "create":
        return this.#create(dice);
      case "version":
        return this.#editSpec(dice, (spec) => ({ version: neighbourOf(spec["version"], dice[2]) }));
      case "config":
        return this.#editSpec(dice, (_, component) => fieldEdit(component, dice));
      case "delete":
        return this.#delete(dice);
      case "move":
        return this.#move(dice);
      case "hold":
        return this.#hold(pick(this.#fleet.spokes, dice[0]), dice[1] < 0.6);
      case "pause":
        return this.#pause(pick(this.#scenario.sets, dice[0]), dice[1] < 0.5, dice[2] < 0.5);
      case "approve":
        return this.approve();
      case "ill":
        return this.#fallIll(dice);
      case "drift":
        return this.#drift(dice);
    }
  }

  /** Lets every rollout go on: nothing is paused or held, and all users are content. One object of ours on each spoke is lost once more. */
  settle(): void {
    for (const kind of this.#scenario.sets) {
      for (const isBySpec of [true, false]) this.#pause(kind, false, isBySpec);
    }
    for (const spoke of this.#fleet.spokes) this.#hold(spoke, false);
    for (const users of this.#users) users.mend();
    // A first stage that began waits for a cluster when its last one was moved away.
    this.#moveTo(this.#fleet.spokes[0], "0");
    // In fine weather a loss is noticed by its watch, and by nothing else.
    for (const at of this.#fleet.spokes.keys()) {
      this.#drift([at / this.#fleet.spokes.length, 0, 0]);
    }
  }

  /** Approves what waits for it, by what the sets say. */
  approve(): void {
    for (const set of this.#setObjects()) {
      if (valueAt(set, "status", "rollout", "phase") !== "AwaitingApproval") continue;
      const revision = String(valueAt(set, "status", "updateRevision"));
      this.#say(`approves ${revision}`, set);
      const annotations = { [`${steering.approve}canary-after`]: `${revision} somebody` };
      this.#fleet.hub.patch(keyOf(set), { metadata: { annotations } });
    }
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
    const edited = dice[1] < 0.6 ? (pick(this.#setObjects(), dice[0]) ?? own) : own;
    if (edited !== undefined) this.#edit(edited, changeOf);
  }

  #stepVersion(edited: StoredObject | undefined, die: number): void {
    if (edited === undefined) return;
    this.#edit(edited, (spec) => ({ version: neighbourOf(spec["version"], die) }));
  }

  #edit(edited: StoredObject, changeOf: SpecChange): void {
    const isSet = edited.kind.endsWith("Set");
    const spec = valueAt(edited, ...(isSet ? ["spec", "template", "spec"] : ["spec"]));
    const isServing = edited.kind.startsWith("KnativeServing");
    const change = changeOf(Object(spec), isServing ? "KnativeServing" : "KnativeEventing");
    this.#say(`edits ${JSON.stringify(change)}`, edited);
    const patch = isSet ? { template: { spec: change } } : change;
    this.#fleet.hub.patch(keyOf(edited), { spec: patch });
  }

  #delete(dice: LifeEvent["dice"]): void {
    const component = pick(this.#ownComponents(), dice[0]);
    if (component === undefined) return;
    this.#say("deletes", component);
    this.#fleet.hub.remove(keyOf(component));
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

  #pause(kind: ComponentKind | undefined, paused: boolean, isBySpec: boolean): void {
    if (kind === undefined) return;
    const key = setKey(kind);
    this.#note(`the user ${paused ? "pauses" : "resumes"} ${key.kind} ${key.name}`);
    const annotations = { [steering.pause]: paused ? "as the user wants" : null };
    const patch = isBySpec ? { spec: { rollout: { paused } } } : { metadata: { annotations } };
    this.#fleet.hub.patch(key, patch);
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
    this.#stepVersion(pick(this.#setObjects(), dice[2]), dice[2]);
  }

  /** Somebody on a spoke deletes or changes an object of ours, or takes our label off it. */
  #drift(dice: LifeEvent["dice"]): void {
    const spoke = pick(this.#fleet.spokes, dice[0]);
    const object = spoke && pick(driftable(spoke), dice[1]);
    if (spoke === undefined || object === undefined) return;
    const { kind, metadata } = object;
    const say = (does: string): void =>
      this.#note(`somebody ${does} ${kind} ${metadata.name} on ${spoke.name}`);
    if (dice[2] < 0.6) {
      say("deletes");
      spoke.remove(keyOf(object));
    } else if (dice[2] < 0.8 && kind === "ConfigMap") {
      say("changes");
      spoke.patch(keyOf(object), { data: { somebody: "was here" } });
    } else {
      say("unlabels");
      spoke.patch(keyOf(object), { metadata: { labels: { [componentUidLabel]: null } } });
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

  #setObjects(): readonly StoredObject[] {
    return this.#scenario.sets.flatMap((kind) => {
      const key = setKey(kind);
      return this.#fleet.hub.store.find({ ...key, metadata: key }) ?? [];
    });
  }

  #say(what: string, { kind, metadata }: Manifest): void {
    this.#note(`the user ${what} ${kind} ${metadata.name}`);
  }
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

/** A version one minor step away, as upgrades and their reversal go. */
function neighbourOf(version: unknown, die: number): string {
  const at = minors.findIndex((minor) => String(version).startsWith(minor));
  const next = at + (die < 0.7 ? 1 : -1);
  return minors[Math.min(minors.length - 1, Math.max(0, next))] ?? "1.22";
}

export function pick<Item>(items: readonly Item[], die: number): Item | undefined {
  return items[Math.floor(die * items.length)];
}
