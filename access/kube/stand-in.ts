import { isServedEverywhere, type ResourceType } from "../../api/resources.ts";
import { standInError } from "../http/connection-failure.ts";
import { ApiError } from "./api-error.ts";

/** Who was asked, and for what. */
export interface Asked {
  readonly server: string;
  readonly resource: ResourceType | undefined;
}

/**
 * The error of an answer, or ConnectionError where it says nothing of any object: 404 without a Status is what an API server answers for a kind that it does
 * not serve. For a kind that all of them serve it comes from something else, such as a load balancer without a way to the server.
 */
export function unlessStandIn(error: unknown, { server, resource }: Asked): unknown {
  if (!(error instanceof ApiError) || error.status !== 404 || error.isStatus) return error;
  if (resource === undefined || !isServedEverywhere(resource)) return error;
  return standInError(error, server);
}
