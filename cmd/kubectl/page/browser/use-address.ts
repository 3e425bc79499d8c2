import { useEffect, useRef, useState } from "preact/hooks";

import { fleetAddress, type Route, routeOf } from "../address.ts";
import type { FleetFilter } from "../fleet-view.ts";

/** Sets the filter. `isTyped`: one more character, which is no place of its own for the back button. */
export type SetFilter = (filter: FleetFilter, isTyped?: boolean) => void;

/** The page that the address names, and the last filter of the fleet. */
interface Address {
  readonly route: Route;
  readonly filter: FleetFilter;
  readonly setFilter: SetFilter;
}

const noFilter: FleetFilter = { text: "", state: null };
/** Browsers allow few changes of the address a second. */
const typingMs = 200;

/** Follows the address of the page, and keeps the filter in it. */
export function useAddress(): Address {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  const [filter, show] = useState(route.page === "fleet" ? route.filter : noFilter);
  const written = useRef<string | undefined>(undefined);
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    const changed = (): void => {
      // What was typed since the address was written stays.
      if (location.hash === written.current) return;
      written.current = undefined;
      clearTimeout(typing.current);
      const next = routeOf(location.hash);
      setRoute(next);
      if (next.page === "fleet") show(next.filter);
    };
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  useFocus(route);
  const setFilter: SetFilter = (next, isTyped = false) => {
    show(next);
    clearTimeout(typing.current);
    const address = fleetAddress(next);
    const write = (): void => {
      written.current = address;
      if (isTyped) location.replace(address);
      else location.hash = address;
    };
    if (isTyped) typing.current = setTimeout(write, typingMs);
    else write();
  };
  return { route, filter, setFilter };
}

/** A new page begins at its heading, also for a screen reader. Back on the fleet the reader is where they left it. */
function useFocus(route: Route): void {
  const name = route.page === "fleet" ? "" : `#/${route.page}/${route.key}`;
  const before = useRef<string | undefined>(undefined);
  useEffect(() => {
    const left = before.current;
    before.current = name;
    document.title = titleOf(route);
    if (left === undefined && name === "") return;
    const back = name === "" ? linkTo(left) : undefined;
    if (back !== undefined) {
      back.focus();
      return;
    }
    scrollTo(0, 0);
    document.querySelector("h1")?.focus({ preventScroll: true });
  }, [name]);
}

/** In a list of tabs the name of what is shown is enough. */
function titleOf(route: Route): string {
  const fleet = "Knative fleet";
  if (route.page === "fleet") return fleet;
  if (route.page === "clusters") return `Clusters · ${fleet}`;
  return `${decodeURIComponent(route.key.split("/").at(-1) ?? "")} · ${fleet}`;
}

function linkTo(address: string | undefined): HTMLAnchorElement | undefined {
  return [...document.querySelectorAll("a")].find((link) => link.getAttribute("href") === address);
}
