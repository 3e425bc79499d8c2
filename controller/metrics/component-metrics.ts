import { Gauge, type Registry } from "prom-client";

import type { Component } from "../../api/component.ts";
import { contestedCondition } from "../../api/reasons.ts";
import { targetIdOf } from "../reconcile/duplicate.ts";

/** Puts what the components say of themselves into a registry; a component that is gone has no series. */
export function addComponentMetrics(registry: Registry, all: () => Iterable<Component>): void {
  const registers = [registry];
  const ready = new Gauge({
    name: "knfleet_component_ready",
    help: "1 for what the condition Ready of a component says: True, False or Unknown",
    labelNames: ["kind", "namespace", "name", "status"],
    registers,
    collect() {
      this.reset();
      for (const component of all()) {
        ready.set({ ...labelsOf(component), status: readinessOf(component) }, 1);
      }
    },
  });
  const contested = new Gauge({
    name: "knfleet_component_contested",
    help: "1 while somebody else changes or deletes objects of a component again and again",
    labelNames: ["kind", "namespace", "name"],
    registers,
    collect() {
      this.reset();
      for (const component of all()) {
        contested.set(labelsOf(component), isContested(component) ? 1 : 0);
      }
    },
  });
  const info = new Gauge({
    name: "knfleet_component_info",
    help: "1 with the version that is installed (empty: none yet) and the ClusterProfile of a component (empty: the hub)",
    labelNames: ["kind", "namespace", "name", "version", "spoke"],
    registers,
    collect() {
      this.reset();
      for (const component of all()) {
        const { version = "" } = component.status ?? {};
        info.set({ ...labelsOf(component), version, spoke: targetIdOf(component) }, 1);
      }
    },
  });
}

function labelsOf({ kind, metadata }: Component) {
  const { namespace, name } = metadata;
  return { kind, namespace, name };
}

function isContested({ status }: Component): boolean {
  return status?.conditions?.some(({ type }) => type === contestedCondition) ?? false;
}

function readinessOf({ status }: Component): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status ?? "Unknown";
}
