import { componentKeyOf, type Component } from "../../api/component.ts";

/** A component as the queue and the log name it: `KnativeServing namespace/name`. */
export function keyTextOf(component: Component): string {
  const { kind, namespace, name } = componentKeyOf(component);
  return `${kind} ${namespace}/${name}`;
}
