import { Gauge, type Registry } from "prom-client";

export interface LiveGauge {
  readonly name: string;
  readonly help: string;
  /** Of the only series. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Puts one number into a registry that is read whenever the metrics are asked for. */
export function addLiveGauge(
  registry: Registry,
  { name, help, labels }: LiveGauge,
  read: () => number,
): void {
  registry.registerMetric(
    new Gauge({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: [],
      collect() {
        this.set(labels, read());
      },
    }),
  );
}
