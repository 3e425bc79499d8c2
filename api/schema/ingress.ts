import { flag, int32, stringList, stringMap, text } from "./primitives.ts";

const enabled = flag("Whether it is installed.");

const tls = {
  type: "object",
  description: "TLS settings of the server.",
  properties: {
    caCertificates: text("Path of the CA certificates of clients."),
    cipherSuites: { ...stringList, description: "The only cipher suites that are offered." },
    credentialName: text("Secret that holds key and certificate."),
    httpsRedirect: flag("Whether HTTP clients are sent to HTTPS with a redirect."),
    maxProtocolVersion: {
      ...int32,
      description: "Highest TLS version: 0 automatic, 1 to 4 for TLS 1.0 to 1.3.",
    },
    minProtocolVersion: {
      ...int32,
      description: "Lowest TLS version: 0 automatic, 1 to 4 for TLS 1.0 to 1.3.",
    },
    mode: {
      type: "string",
      enum: ["PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL"],
      description: "How TLS is ended, and whether clients need a certificate.",
    },
    privateKey: text("Path of the server's private key."),
    serverCertificate: text("Path of the server's certificate."),
    subjectAltNames: {
      ...stringList,
      description: "Names of which a client's certificate must have one.",
    },
    verifyCertificateHash: {
      ...stringList,
      description: "SHA-256 hashes of the client certificates that are accepted.",
    },
    verifyCertificateSpki: {
      ...stringList,
      description: "SHA-256 hashes of the client public keys that are accepted, in base64.",
    },
  },
} as const;

const gatewayOverride = {
  type: "object",
  properties: {
    selector: {
      ...stringMap,
      description: "Replaces the selector of the Gateway and of the Service of the same name.",
    },
    servers: {
      type: "array",
      description: "Replaces the servers of the Gateway.",
      items: {
        type: "object",
        properties: {
          bind: text("Address or socket to listen on."),
          defaultEndpoint: text("Where traffic goes by default."),
          hosts: { ...stringList, description: "Host names that the server serves." },
          name: text("Name of the server, unique in the Gateway."),
          port: {
            type: "object",
            description: "Port to listen on.",
            properties: {
              name: text("Name of the port."),
              number: { ...int32, description: "Number of the port." },
              protocol: text("HTTP, HTTPS, GRPC, HTTP2, MONGO, TCP or TLS."),
              target_port: { ...int32, description: "Port at the endpoint." },
            },
          },
          tls,
        },
      },
    },
  },
} as const;

const kourier = {
  type: "object",
  description: "Kourier, an ingress that Knative maintains itself.",
  properties: {
    "bootstrap-configmap": text(
      "ConfigMap with Envoy's bootstrap configuration, instead of kourier-bootstrap.",
    ),
    enabled,
    "http-port": {
      ...int32,
      description: "Node port of plain HTTP; needs a Service of type NodePort.",
    },
    "https-port": {
      ...int32,
      description: "Node port of HTTPS; needs a Service of type NodePort.",
    },
    "service-load-balancer-ip": text(
      "Address of the load balancer; needs a Service of type LoadBalancer.",
    ),
    "service-type": text("Type of Kourier's Service: LoadBalancer, NodePort or ClusterIP."),
  },
} as const;

/** `spec.ingress` of Serving. Spec: knative-operator.md 1.3, 3.16. */
export const ingress = {
  type: "object",
  description:
    "Which ingresses are installed. Absent: Istio. Present: exactly those with enabled: true.",
  properties: {
    contour: { type: "object", description: "Contour.", properties: { enabled } },
    "gateway-api": {
      type: "object",
      description: "Any implementation of the Kubernetes Gateway API.",
      properties: { enabled },
    },
    istio: {
      type: "object",
      description: "Istio; its own CRDs must be on the cluster.",
      properties: {
        enabled,
        "knative-ingress-gateway": {
          ...gatewayOverride,
          description: "Changes to the Gateway for traffic from outside.",
        },
        "knative-local-gateway": {
          ...gatewayOverride,
          description: "Changes to the Gateway for traffic inside the cluster.",
        },
      },
    },
    kourier,
  },
} as const;
