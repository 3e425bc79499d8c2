// Placeholder of the contract: the schema owner replaces these with types derived from the JSON Schemas.
export interface KnativeServingSpec {
  readonly version?: string;
  readonly clusterProfileRef?: { readonly name: string; readonly namespace: string };
  readonly [field: string]: unknown;
}
export type KnativeEventingSpec = KnativeServingSpec;
