import { keepWhileUsedAnnotation } from "../../api/component.ts";
import { deliveryAnnotation } from "../../api/delivery.ts";
import { keyOf } from "../../api/kubernetes.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import { isComponent, isKept, isPulled, profileOf } from "./component-facts.ts";
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

  /** A user moves an installation from push to pull, or back, or says whether it is kept while it is used. */
  move([first, second, third]: LifeEvent["dice"]): void {
    const { fleet, time } = this.#options;
    const names = new Set(fleet.pulling.map(({ name }) => name));
    const all = [...fleet.hub.store.everything()].filter(
      (object) => isComponent(object) && names.has(profileOf(object)),
    );
    const component = pick(all, first);
    if (component === undefined) return;
    if (second < 0.3) return this.#keep(component);
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

  #keep(component: StoredObject): void {
    const { fleet, note } = this.#options;
    const wasKept = isKept(component);
    note(
      `the user ${wasKept ? "lets go of" : "keeps"} ${component.kind} ${component.metadata.name}`,
    );
    const annotations = { [keepWhileUsedAnnotation]: wasKept ? null : "true" };
    fleet.hub.patch(keyOf(component), { metadata: { annotations } });
  }

  #want(component: StoredObject, delivery: "Pull" | "Push"): void {
    const { fleet, note } = this.#options;
    note(`the user wants ${component.kind} ${component.metadata.name} by ${delivery}`);
    const annotations = { [deliveryAnnotation]: delivery };
    fleet.hub.patch(keyOf(component), { metadata: { annotations } });
  }
}
