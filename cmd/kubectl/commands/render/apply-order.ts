import { identityOf, keyOf, type Manifest } from "../../../../api/kubernetes.ts";
import type { Preparations } from "../../../../installation/desired.ts";
import { gated } from "../../../../installation/gates.ts";
import type { Rendered } from "../../../../render/release/releases.ts";

/** What was rendered in the order in which the controller sends it: Namespaces, then by gate, within a gate as in the release files. */
export function inApplyOrder(rendered: Rendered, preparations: Preparations): readonly Manifest[] {
  const { namespaces, objects } = preparations.of(rendered);
  const ids = [
    ...namespaces.map((manifest) => identityOf(keyOf(manifest))),
    ...gated(objects).map(({ object }) => object.id),
  ];
  const byId = new Map(rendered.manifests.map((one) => [identityOf(keyOf(one)), one]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
