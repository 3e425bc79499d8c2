import { canonicalJson } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import { dumpOfInstallation, type SpokeDump } from "../support/spoke-dump.ts";
import { isPulled, isReady } from "./component-facts.ts";
import { copyOn } from "./copies.ts";
import { fleetNamespace } from "./fleet.ts";
import { plainRules } from "./scenario.ts";
import { Simulation } from "./simulation.ts";
import type { Surroundings } from "./surroundings.ts";

const installMs = 5 * 60_000;
const placeholder = "the-component";

/** What a component is on its spoke after a fresh install, on which nothing goes wrong. Each one is installed once. */
export class FreshInstalls {
  readonly #surroundings: Surroundings;
  readonly #dumps = new Map<string, Promise<SpokeDump>>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** The dump that `dumpOf` has to give for a component that is right. */
  of(component: StoredObject): Promise<SpokeDump> {
    const spec = { ...Object(component["spec"]), clusterProfileRef: undefined };
    const key = canonicalJson({ kind: component.kind, spec, isPulled: isPulled(component) });
    const known = this.#dumps.get(key) ?? this.#install(component);
    this.#dumps.set(key, known);
    return known;
  }

  async #install(component: StoredObject): Promise<SpokeDump> {
    const { apiVersion, kind } = component;
    const clusterProfileRef = { namespace: fleetNamespace, name: "spoke-1" };
    const fresh: Manifest = {
      apiVersion,
      kind,
      metadata: { namespace: fleetNamespace, name: placeholder },
      spec: { ...Object(component["spec"]), clusterProfileRef },
    };
    const scenario = {
      seed: 1,
      spokes: 1,
      replicas: 1,
      shards: 1,
      canaries: 1,
      pull: { spokes: isPulled(component) ? 1 : 0, isDialled: false },
      budgets: { canary: 1, rest: 1 },
      sets: [],
      events: [],
      rules: plainRules,
    } as const;
    await using simulation = new Simulation(scenario, { surroundings: this.#surroundings });
    await simulation.live();
    simulation.fleet.hub.put(fresh);
    await simulation.wait(installMs);
    const installed = simulation.fleet.hub.store.find(fresh);
    const [spoke] = simulation.fleet.spokes;
    if (installed === undefined || spoke === undefined || !isReady(installed)) {
      throw new Error(`No fresh install: ${JSON.stringify(valueAt(installed, "status"))}`);
    }
    return dumpOf([...spoke.store.everything()], copyOn(spoke, installed) ?? installed);
  }
}

/** An installation as it is on its spoke, without what differs between two equal ones. */
export function dumpOf(objects: readonly StoredObject[], component: StoredObject): SpokeDump {
  const whole = objects.map((object) => ({ ...object, digest: undefined }));
  const { uid, name } = component.metadata;
  const dump = dumpOfInstallation(whole, uid);
  return JSON.parse(JSON.stringify(dump).replaceAll(name, placeholder));
}
