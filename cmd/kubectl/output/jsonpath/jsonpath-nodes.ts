/** Part of a template: text, a path whose values are printed, or a loop over the values of one. */
export type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: readonly Step[] }
  | { readonly kind: "range"; readonly path: readonly Step[]; readonly nodes: readonly Node[] };

/** One step from values to the values below them. */
export type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "all" }
  | { readonly kind: "descend" }
  | { readonly kind: "index"; readonly index: number }
  | {
      readonly kind: "slice";
      readonly from: number | undefined;
      readonly to: number | undefined;
      readonly step: number;
    }
  | ({ readonly kind: "filter" } & Comparison)
  /** First what the first path leads to from every value, then what the next one leads to. */
  | { readonly kind: "union"; readonly paths: readonly (readonly Step[])[] };

/** What a filter asks of an element. */
export interface Comparison {
  readonly left: readonly Step[];
  readonly operator: "==" | "!=" | "<=" | ">=" | "<" | ">" | "exists";
  readonly right: string | number | boolean | null;
}
