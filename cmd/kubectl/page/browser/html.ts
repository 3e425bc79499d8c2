import { html } from "htm/preact";
import type { VNode } from "preact";

/** Markup as a template. Values are text or attributes, never markup: this is what keeps texts of clusters from being code. */
export { html };

/** What a component may return. */
export type Markup = VNode | readonly VNode[] | null;
