import { isRecord } from "../../api/fields.ts";
import { isSubdomain, textsOf } from "./names.ts";
import { below, type Check, recordFields, shown } from "./rule.ts";

const field = "spec.registry";
// The grammar of image references: registry with port, path of lower-case parts, tag, digest.
const host =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/;
const part = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const tag = /^\w[\w.-]{0,127}$/;
const digest = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}$/;
const placeholder = "${NAME}";

/** Templates and images that no node could pull. */
export const registry: Check = ({ spec }) => {
  const { default: template, override, imagePullSecrets } = recordFields(spec["registry"]);
  const secrets: readonly unknown[] = Array.isArray(imagePullSecrets) ? imagePullSecrets : [];
  return [
    ...templateProblems(template).map((message) => ({ path: below(field, "default"), message })),
    ...textsOf(override).flatMap(([key, image]) => {
      const problem = image === "" ? undefined : imageProblem(image);
      return problem === undefined
        ? []
        : [{ path: below(field, "override", key), message: `${problem} (is ${shown(image)})` }];
    }),
    ...secrets.flatMap((entry, index) => {
      const name = isRecord(entry) ? entry["name"] : undefined;
      const path = below(field, "imagePullSecrets", index, "name");
      if (typeof name !== "string" || name === "") return [];
      if (!isSubdomain(name)) {
        return [{ path, message: `must be the name of a Secret (is ${shown(name)})` }];
      }
      const isFirst = secrets.findIndex((one) => isRecord(one) && one["name"] === name) === index;
      return isFirst ? [] : [{ path, message: `stands further up already (is ${shown(name)})` }];
    }),
  ];
};

/** A template that gives every container the same image, which is legal and seldom meant. */
export const registryOneImage: Check = ({ spec }) => {
  const { default: template } = recordFields(spec["registry"]);
  return typeof template === "string" && template !== "" && !template.includes(placeholder)
    ? [
        {
          path: below(field, "default"),
          message: `without ${placeholder} every container gets the same image; write, for example, registry.example.com/knative/${placeholder}:v1`,
        },
      ]
    : [];
};

function templateProblems(template: unknown): readonly string[] {
  if (typeof template !== "string" || template === "") return [];
  const filled = template.replaceAll(placeholder, "name");
  if (/\$\{|\{\{|\$\(/.test(filled)) {
    return [`the only placeholder is ${placeholder} (is ${shown(template)})`];
  }
  const problem = imageProblem(filled);
  return problem === undefined
    ? []
    : [
        `${problem}, for example registry.example.com/knative/${placeholder}:v1 (is ${shown(template)})`,
      ];
}

/** Length before pattern: no pattern sees more than a reference may have. */
function imageProblem(image: string): string | undefined {
  const problem = "must be an image reference";
  if (image.length > 1_024) return problem;
  const [name = "", ...digests] = image.split("@");
  if (digests.length > 1 || digests.some((one) => !digest.test(one))) return problem;
  const colon = name.indexOf(":", name.lastIndexOf("/") + 1);
  if (colon >= 0 && !tag.test(name.slice(colon + 1))) return problem;
  return isRepository(colon < 0 ? name : name.slice(0, colon)) ? undefined : problem;
}

function isRepository(text: string): boolean {
  const parts = text.split("/");
  const [first = "", ...others] = parts;
  const isHost = others.length > 0 && /[.:[A-Z]|^localhost$/.test(first);
  if (isHost && !host.test(first)) return false;
  const path = isHost ? others : parts;
  return path.join("/").length <= 255 && path.every((one) => part.test(one));
}
