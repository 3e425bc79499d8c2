import type { Component } from "../../api/component.ts";
import { keyTextOf, targetIdOf } from "../../controller/component-identity.ts";

/** Components of a hub as the controller asks for them. */
export function componentsOf(all: () => readonly Component[]) {
  const of = (target: string): readonly Component[] =>
    all().filter((one) => targetIdOf(one) === target);
  return {
    all,
    of,
    get: (key: string) => all().find((one) => keyTextOf(one) === key),
    targets: () => new Set(all().map(targetIdOf)),
    isUsed: (target: string) => of(target).length > 0,
  };
}
