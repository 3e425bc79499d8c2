import type { Component } from "../../api/component.ts";
import { setAnnotations } from "../../api/fleet-set.ts";

const { content } = setAnnotations;

/** The annotation of a component that was stamped while its set rendered this. */
export function contentAnnotation(
  spec: string,
  digest: string | undefined,
): Readonly<Record<string, string>> {
  return digest === undefined ? {} : { [content]: `${spec}-${digest}` };
}

/** Whether the status of a component says that the stamped content is installed. */
export function saysContent({ metadata, status }: Component): boolean {
  return status?.annotations?.[content] === metadata.annotations?.[content];
}

/** The annotations of the status of a component that has installed what was stamped. */
export function installedContent({
  annotations,
}: Component["metadata"]): Pick<NonNullable<Component["status"]>, "annotations"> {
  const stamped = annotations?.[content];
  return stamped === undefined ? {} : { annotations: { [content]: stamped } };
}
