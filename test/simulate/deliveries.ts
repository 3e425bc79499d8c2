import { deliveryAnnotation } from "../../api/delivery.ts";
import { keyOf } from "../../api/kubernetes.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import { isComponent, isPulled, profileOf } from "./component-facts.ts";
import type { SimulatedFleet } from "./fleet.ts";
import { pick } from "./random.ts";
import type { LifeEvent } from "./scenario.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface DeliveriesOptions {
  readonly fleet: SimulatedFleet;
  readonly time: VirtualTime;
  readonly note: (text: string) => void;
}

/** What users do about the way in which components come to their clusters. */
export class Deliveries {
  readonly #options: DeliveriesOptions;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** A user moves an installation from push to pull, or back. */
  move([first, , third]: LifeEvent["dice"]): void {
    const { fleet, time } = this.#options;
    const names = new Set(fleet.pulling.map(({ name }) => name));
    const all = [...fleet.hub.store.everything()].filter(
      (object) => isComponent(object) && names.has(profileOf(object)),
    );
    const component = pick(all, first);
    if (component === undefined) return;
    const delivery = isPulled(component) ? "Push" : "Pull";
    this.#want(component, delivery);
    // Some think better of it, and others do not want the component any more, while it is on its way.
    if (third > 0.5) return;
    time.after(third * 60_000, () => {
      if (third < 0.2) return fleet.hub.remove(keyOf(component));
      this.#want(component, delivery === "Pull" ? "Push" : "Pull");
    });
  }

  /** Somebody deletes a work by hand. */
  loseWork(die: number): void {
    const { fleet, note } = this.#options;
    const works = [...fleet.hub.store.everything()].filter(({ kind }) => kind === "ManifestWork");
    const work = pick(works, die);
    if (work === undefined) return;
    note(`somebody deletes work ${work.metadata.name} of ${work.metadata.namespace}`);
    fleet.hub.remove(keyOf(work));
  }

  #want(component: StoredObject, delivery: "Pull" | "Push"): void {
    const { fleet, note } = this.#options;
    note(`the user wants ${component.kind} ${component.metadata.name} by ${delivery}`);
    const annotations = { [deliveryAnnotation]: delivery };
    fleet.hub.patch(keyOf(component), { metadata: { annotations } });
  }
}
