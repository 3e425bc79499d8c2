import type { FleetError } from "../../api/errors.ts";
import { type AccessCase, fieldsOf, listOf, textOf } from "./access-cases.ts";

type Fields = Readonly<Record<string, unknown>>;

interface RefusalRule {
  readonly defect: string;
  readonly code: string;
  /** True when what the reference accepts has to be refused here. */
  readonly applies: (config: Fields, one: AccessCase) => boolean;
}

const plainServer = /^https:\/\/[^\s/?#@\\:]+(?::[1-9]\d*|:)?(?:\/[^?#\s\\]*)?$/i;
const bracketServer = /^https:\/\/\[[\da-f:.]+\](?::[1-9]\d*)?(?:\/[^?#\s\\]*)?$/i;

const refusalRules: readonly RefusalRule[] = [
  {
    // https with a host, and nothing that two readers could read differently.
    defect: "T-10",
    code: "EndpointInvalid",
    applies: ({ host }) => !plainServer.test(textOf(host)) && !bracketServer.test(textOf(host)),
  },
  {
    // Only proxies that can be spoken to, with an address.
    defect: "T-15",
    code: "EndpointInvalid",
    applies: ({ proxy }) => {
      const url = fieldsOf(proxy)["url"];
      return typeof url === "string" && !/^(?:https?|socks5h?):\/\/[^\s/:]+/i.test(url);
    },
  },
  {
    // What a profile may set: readable names, and values that a process can be given.
    defect: "T-17",
    code: "ExtensionInvalid",
    applies: ({ exec }) =>
      listOf(fieldsOf(exec)["env"])
        .map(fieldsOf)
        .some(
          ({ name, value }) =>
            // oxlint-disable-next-line no-control-regex -- what must not reach a process
            !/^[\w.-]{1,128}$/.test(textOf(name)) || /[\u0000\r\n]/.test(textOf(value)),
        ),
  },
];

/** The rule of ours by which something is refused that the reference accepts; undefined when there is none. */
export function refusalRule(
  error: FleetError | undefined,
  config: Fields,
  one: AccessCase,
): string | undefined {
  return refusalRules.find(({ code, applies }) => code === error?.code && applies(config, one))
    ?.defect;
}
