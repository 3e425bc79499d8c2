import type { Component } from "../../api/component.ts";
import { componentId, targetId } from "../../api/keys.ts";

/** Components of a hub as the controller asks for them. */
export function componentsOf(all: () => readonly Component[]) {
  const of = (target: string): readonly Component[] =>
    all().filter((one) => targetId(one) === target);
  return {
    all,
    of,
    get: (key: string) => all().find((one) => componentId(one) === key),
    targets: () => new Set(all().map(targetId)),
    isUsed: (target: string) => of(target).length > 0,
  };
}
