// Shows the OpenAPI documents in Scalar. Calls go through the console, because the host refuses pages of other origins.
const hidden = [
  "c",
  "clojure",
  "csharp",
  "dart",
  "fsharp",
  "go",
  "http",
  "java",
  "julia",
  "kotlin",
  "objc",
  "ocaml",
  "php",
];
const others = ["powershell", "r", "ruby", "rust", "swift"];

const common = {
  proxyUrl: `${location.origin}/reference/proxy`,
  withDefaultFonts: false,
  telemetry: false,
  persistAuth: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: "json",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  hiddenClients: {
    ...Object.fromEntries([...hidden, ...others].map(name => [name, true])),
    shell: ["httpie", "wget"],
    python: ["httpx_async", "httpx_sync", "aiohttp"],
    js: ["jquery", "xhr", "axios", "ofetch"],
    node: ["axios", "ofetch", "fetch"],
  },
};

const response = await fetch("/reference/documents");
const main = document.querySelector("#reference");
if (response.ok) {
  const documents = await response.json();
  main.replaceChildren();
  globalThis.Scalar.createApiReference(
    main,
    documents.map(document => ({ ...common, ...document })),
  );
} else {
  main.textContent = (await response.json()).error;
}
