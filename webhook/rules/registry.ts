import { listAt, recordAt, textsOf } from "../../api/fields.ts";
import { isSubdomain } from "./names.ts";
import { below, type Check, problemAt, problemIf, quoteValue } from "./rule.ts";

const field = "spec.registry";
// The grammar of image references: registry with port, path of lower-case parts, tag, digest.
const host =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/;
const part = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const tag = /^\w[\w.-]{0,127}$/;
const digest = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}$/;
const placeholder = "${NAME}";
const example = `registry.example.com/knative/${placeholder}:v1`;

/** Templates and images that no node could pull. */
export const registry: Check = ({ spec }) => {
  const settings = recordAt(spec, "registry");
  const secretNames = listAt(settings, "imagePullSecrets").map((entry) => recordAt(entry)["name"]);
  return [
    ...problemAt(below(field, "default"), templateProblem(settings["default"])),
    ...textsOf(settings["override"]).flatMap(([key, image]) => {
      const problem = image === "" ? undefined : imageProblem(image);
      const message = problem === undefined ? undefined : `${problem} (is ${quoteValue(image)})`;
      return problemAt(below(field, "override", key), message);
    }),
    ...secretNames.flatMap((name, index) => {
      const path = below(field, "imagePullSecrets", index, "name");
      if (typeof name !== "string" || name === "") return [];
      if (!isSubdomain(name)) {
        return [{ path, message: `must be the name of a Secret (is ${quoteValue(name)})` }];
      }
      const isTwice = secretNames.indexOf(name) < index;
      return problemIf(isTwice, path, `stands further up already (is ${quoteValue(name)})`);
    }),
  ];
};

/** A template gives every container the same image, which is legal and seldom meant. */
export const registryOneImage: Check = ({ spec }) => {
  const { default: template } = recordAt(spec, "registry");
  return problemIf(
    typeof template === "string" && template !== "" && !template.includes(placeholder),
    below(field, "default"),
    `without ${placeholder} every container gets the same image; write, for example, ${example}`,
  );
};

function templateProblem(template: unknown): string | undefined {
  if (typeof template !== "string" || template === "") return undefined;
  const filled = template.replaceAll(placeholder, "name");
  if (/\$\{|\{\{|\$\(/.test(filled)) {
    return `the only placeholder is ${placeholder} (is ${quoteValue(template)})`;
  }
  const problem = imageProblem(filled);
  return problem === undefined
    ? undefined
    : `${problem}, for example ${example} (is ${quoteValue(template)})`;
}

/** The length is checked before the patterns, so that no pattern sees more than a reference may have. */
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
