import type { Component } from "../../api/component.ts";
import { contentText, editedContent, setAnnotations, setLabels } from "../../api/fleet-set.ts";
import { contentOf, noDigest } from "../../render/content.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";

/** What a component of a set may get now. */
export interface SetContent {
  /** The set has not stamped what this process renders: the cluster keeps what its inventory holds. */
  readonly isHeld: boolean;
  /** What `status.annotations` says once everything is applied; undefined: nothing new. */
  readonly installed?: string;
}

/**
 * Compares what a set has stamped with what this process renders. Another rendering of the stamped spec is held until the next stamp. A spec that somebody edits is not: whoever writes
 * it wants it at once, and gets it as it is rendered now, until the set stamps the component again.
 */
export async function setContentOf(
  { kind, metadata, spec, status }: Component,
  { releases, rendering }: Pick<ReconcileDeps, "releases" | "rendering">,
): Promise<SetContent> {
  const stamped = metadata.annotations?.[setAnnotations.content];
  if (stamped === undefined || metadata.labels?.[setLabels.set] === undefined) {
    return { isHeld: false };
  }
  const own = await contentOf({ kind, spec }, releases, rendering.environment);
  const promised = contentText(own);
  if (promised === stamped) return { isHeld: false, installed: stamped };
  const wasEdited = status?.annotations?.[setAnnotations.content] === editedContent;
  if (wasEdited || !stamped.startsWith(contentText({ ...own, rendered: "" }))) {
    return { isHeld: false, installed: editedContent };
  }
  // Nothing was promised.
  if (stamped.endsWith(noDigest)) return { isHeld: false, installed: stamped };
  return { isHeld: true };
}
