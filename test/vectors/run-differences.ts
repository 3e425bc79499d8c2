import type { FleetError } from "../../api/errors.ts";
import { type AccessCase, fieldsOf, textOf } from "./access-cases.ts";

/** Why a case cannot be said in this project at all, because it changes settings that only client-go has. */
export function unreachableSetting({ input }: AccessCase): string | undefined {
  const override = fieldsOf(input["restConfigOverride"]);
  // Plugins are allowed by the folders they are in.
  if ("pluginPolicy" in override) return "T-40";
  // A spoke's connection has the plugin's credential and no other.
  if ("bearerToken" in override) return "3.5";
  const steps = Array.isArray(input["steps"]) ? input["steps"].map(fieldsOf) : [];
  return steps.some((step) => "authorization" in step) ? "3.5" : undefined;
}

/** The rule of ours by which a profile is refused that the reference runs a plugin for; undefined when there is none. */
export function runRefusalRule({ input }: AccessCase, error: FleetError): string | undefined {
  if (error.code !== "EndpointInvalid") return undefined;
  const texts = JSON.stringify(input);
  const server = textOf(/"server":"([^"]*)"/.exec(texts)?.[1]);
  const isInsecure = /"insecure(?:-skip-tls-verify)?":true/.test(texts);
  if (isInsecure) return "T-13";
  if (server === "" || !/^https:/i.test(server)) return "T-10";
  const kind = textOf(fieldsOf(input["server"])["proxy"]);
  const proxy = /"proxy-url":"([^"]*)"/.exec(texts)?.[1] ?? (kind === "" ? "" : `${kind}://a`);
  // Only proxies that can be spoken to, and an address that no two readers read differently.
  return proxy === "" || /^(?:https?|socks5h?):\/\/[^/\s]+(?:\/\S*)?$/i.test(proxy)
    ? undefined
    : "T-15";
}
