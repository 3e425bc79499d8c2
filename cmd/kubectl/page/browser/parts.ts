import { useState } from "preact/hooks";

import { fleetAddress } from "../address.ts";
import type { FleetFilter } from "../fleet-view.ts";
import type { BarPart } from "../set-view.ts";
import { html, type Markup } from "./html.ts";

interface CommandProps {
  readonly why?: string;
  readonly command: string;
}

/** A command with a button that copies it. */
export function Command({ why, command }: CommandProps): Markup {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(command);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return html`<div class="command">
    ${why === undefined ? null : html`<span class="why">${why}</span>`}
    <code>${command.split(" ").map((word) => html`<span>${word}</span> `)}</code>
    <button type="button" onClick=${() => void copy()} aria-label=${`Copy: ${command}`}>
      ${isCopied ? "Copied" : "Copy"}
    </button>
  </div>`;
}

/** Commands below one another, and beside one another where the window is wide. */
export function Commands({
  commands,
}: {
  readonly commands: readonly Required<CommandProps>[];
}): Markup {
  return html`<div class="commands">
    ${commands.map((one) => html`<${Command} key=${one.command} ...${one} />`)}
  </div>`;
}

/** A text of words that break at spaces alone: a browser breaks a name also behind each `-` and `/`. A word that is longer than its place breaks anywhere. */
export function Prose({ text }: { readonly text: string | null }): Markup {
  const words = (text ?? "").split(/(\s+)/);
  return html`${words.map((word) => (/[-/?]./.test(word) ? html`<span class="word">${word}</span>` : word))}`;
}

interface SectionProps {
  readonly title: string;
  readonly children?: unknown;
}

/** A part of a page with its heading. */
export function Section({ title, children }: SectionProps): Markup {
  return html`<section>
    <h2>${title}</h2>
    ${children}
  </section>`;
}

interface FactsProps {
  /** Values are text or markup; what has no value is left out. */
  readonly facts: readonly (readonly [name: string, value: unknown])[];
}

/** What is known of something, by name. */
export function Facts({ facts }: FactsProps): Markup {
  return html`<dl class="facts">
    ${facts
      .filter(([, value]) => value !== null && value !== "")
      .map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${typeof value === "string" ? html`<${Prose} text=${value} />` : value}</dd>
          </div>`,
      )}
  </dl>`;
}

/** The way back to the fleet, under the filter that it had. */
export function Back({ filter }: { readonly filter: FleetFilter }): Markup {
  return html`<p><a class="back" href=${fleetAddress(filter)}>Fleet</a></p>`;
}

interface RestProps<One> {
  readonly items: readonly One[];
  /** How many are shown until all are asked for. */
  readonly first: number;
  readonly show: (items: readonly One[]) => Markup;
}

/** The first of many, with a button that shows all. */
export function FirstOf<One>({ items, first, show }: RestProps<One>): Markup {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || items.length <= first) return show(items);
  return html`${show(items.slice(0, first))}
    <p>
      <button type="button" onClick=${() => setWhole(true)}>Show all ${items.length}</button>
    </p>`;
}

/** What an address leads to when the fleet does not have it now. */
export function NotFound({ text }: { readonly text: string }): Markup {
  return html`<h1 tabindex="-1">Not found</h1>
    <p>${text}</p>
    <p><a href="#/">The whole fleet</a></p>`;
}

interface TableProps {
  readonly label: string;
  readonly headers: readonly string[];
  /** Cells that are text, or markup. */
  readonly rows: readonly (readonly unknown[])[];
}

/** A table. Where the window is narrow each row is a card, whose cells have the headers before them. */
export function Table({ label, headers, rows }: TableProps): Markup {
  return html`<div class="wide" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead>
        <tr>
          ${headers.map((header) => html`<th scope="col">${header}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map(
                (cell, at) =>
                  html`<td data-label=${headers[at]}>
                    ${typeof cell === "string" ? html`<${Prose} text=${cell} />` : cell}
                  </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** A state in a word with its colour; the word alone is enough. */
export function Badge({ tone, text }: { readonly tone: string; readonly text: string }): Markup {
  return html`<span class=${`badge ${tone}`}>${text}</span>`;
}

/** Clusters by state as one bar, for eyes alone: beside it the same is said in words. */
export function Bar({ parts }: { readonly parts: readonly BarPart[] }): Markup {
  return html`<div class="stage-bar" aria-hidden="true">
    ${parts.map(
      ({ tone, share, title }) =>
        html`<span class=${tone ?? "waits"} title=${title} style=${{ flexGrow: share }}></span>`,
    )}
  </div>`;
}
