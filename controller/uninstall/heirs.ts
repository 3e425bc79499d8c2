import type { Component } from "../../api/component.ts";
import { identityOf } from "../../api/kubernetes.ts";
import type { Inventory } from "../../installation/inventory.ts";
import type { Installation } from "../reconcile/installation.ts";
import { wordsFor } from "../reconcile/neighbours.ts";

type Named = Pick<Inventory, "entries"> | undefined;

/** What somebody had and has now; undefined: nobody knows. */
export interface Holdings {
  readonly before: Named | "all";
  readonly after: Named;
}

/**
 * Keys of the installations that have left to a holder what it has given up. Nothing on their cluster tells them: what they have left was never theirs, so that they
 * do not watch it.
 */
export function heirsOf(
  holder: Component,
  { before, after }: Holdings,
  installations: Iterable<readonly [string, Pick<Installation, "leftTo">]>,
): readonly string[] {
  if (before === undefined || after === undefined) return [];
  const words = wordsFor(holder);
  const leavers = [...installations].flatMap(([key, installation]) => {
    const ids = installation.leftTo(words);
    return ids.length === 0 ? [] : [{ key, ids }];
  });
  // Nearly always.
  if (leavers.length === 0) return [];
  const had = before === "all" ? undefined : new Set(before.entries.map(identityOf));
  const has = new Set(after.entries.map(identityOf));
  const isGivenUp = (id: string): boolean => had?.has(id) !== false && !has.has(id);
  return leavers.filter(({ ids }) => ids.some(isGivenUp)).map(({ key }) => key);
}
