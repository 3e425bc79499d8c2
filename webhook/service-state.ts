import type { AppDeps } from "./app.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { Certificates } from "./certificates/certificates.ts";
import type { EventLoopWatch } from "./event-loop-watch.ts";
import type { WarmUp } from "./reviews/warm-up.ts";

interface ServiceParts {
  readonly loop: Pick<EventLoopWatch, "isSlow">;
  readonly budget: Pick<ByteBudget, "isStuck">;
  readonly reviews: WarmUp;
}

/** Where the service is between its start and its end, and what readiness says of it. */
export class ServiceState {
  isDraining = false;
  certificates: Pick<Certificates, "waitingFor"> | undefined;
  readonly view: Pick<AppDeps, "waitingFor" | "draining">;

  constructor({ loop, budget, reviews }: ServiceParts) {
    this.view = {
      draining: () => this.isDraining,
      waitingFor: () => [
        ...(this.certificates?.waitingFor() ?? ["the start"]),
        ...reviews.waitingFor(),
        ...(this.isDraining ? ["the end: it is stopping"] : []),
        ...(loop.isSlow() ? ["the event loop, which is half a second late"] : []),
        ...(budget.isStuck() ? ["room for reviews: none could be read for a minute"] : []),
      ],
    };
  }

  hasCertificate(): boolean {
    return this.certificates?.waitingFor().length === 0;
  }
}
