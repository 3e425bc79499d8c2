const name = "[\\w.-]{1,100}";
const refused = new RegExp(
  `cannot (?<verb>[a-z]{1,30}) resource "(?<resource>[\\w./-]{1,100})" in API group "(?<group>[\\w.-]{0,100})"` +
    `(?: in the namespace "(?<namespace>${name})")?`,
);

/**
 * The right that an API server says is missing, in words of ours: `the verb create on deployments.apps in namespace a`; undefined when the
 * message of a 403 names none.
 */
export function missingRightIn(message: string): string | undefined {
  const { verb, resource, group, namespace } = refused.exec(message)?.groups ?? {};
  if (verb === undefined || resource === undefined) return undefined;
  const of = group === undefined || group === "" ? resource : `${resource}.${group}`;
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return `the verb ${verb} on ${of}${where}`;
}
