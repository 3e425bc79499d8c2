import { providerFileReview } from "../../../webhook/reviews/provider-file-review.ts";
import type { Ruling } from "../../../webhook/reviews/review.ts";
import { requestIn } from "../../vectors/recorded-reviews.ts";
import { factsOf, linesOf, type Stage } from "../component-stage.ts";
import { reviewOf } from "../serving.ts";

/** The write of a ConfigMap; labelled unless it says otherwise. */
export interface Write {
  readonly data?: unknown;
  readonly before?: unknown;
  readonly operation?: "CREATE" | "UPDATE" | "DELETE";
  readonly name?: string;
  readonly labels?: object;
  readonly metadata?: object;
  readonly binaryData?: object;
  readonly binaryBefore?: object;
}

const label = { "knfleet.dev/access-providers": "" };

function requestOf({
  data,
  before,
  operation = "CREATE",
  name = "providers",
  labels = label,
  metadata,
  binaryData,
  binaryBefore,
}: Write) {
  const object = (one: unknown, binary: object | undefined) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "knfleet", labels, ...metadata },
    data: one,
    ...(binary === undefined ? {} : { binaryData: binary }),
  });
  return requestIn(
    reviewOf({
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      name,
      operation,
      object: operation === "DELETE" ? null : object(data, binaryData),
      oldObject: operation === "CREATE" ? null : object(before, binaryBefore),
    }),
  );
}

/** Reviews the write of a ConfigMap. */
export async function review(
  write: Write,
  stage: Stage & { readonly pluginRoots?: readonly string[]; readonly providerFile?: string } = {},
): Promise<Ruling> {
  const { pluginRoots, providerFile } = stage;
  const decide = providerFileReview({
    facts: factsOf(stage),
    ...(pluginRoots === undefined ? {} : { pluginRoots }),
    ...(providerFile === undefined ? {} : { providerFile }),
  });
  return decide(requestOf(write), AbortSignal.timeout(30_000));
}

/** An entry of a provider file. */
export const provider = (changes: object = {}, exec: object = {}) => ({
  name: "secretreader",
  execConfig: {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "/plugins/secretreader",
    ...exec,
  },
  ...changes,
});
/** A provider file with these providers. */
export const text = (...providers: readonly unknown[]) => JSON.stringify({ providers }, null, 2);

/** A line without its column. */
export function withoutColumn(line: string): string {
  return line.replace(/, column \d+\)/, ")");
}

/** What is said about the text of one provider file. */
export async function problemsOf(
  content: string,
  key = "providers.json",
  roots: readonly string[] = [],
) {
  const ruling = await review({ data: { [key]: content } }, { pluginRoots: roots });
  return { ruling, lines: linesOf(ruling) };
}
