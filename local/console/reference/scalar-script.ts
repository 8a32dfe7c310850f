interface Route {
  readonly url: string;
  readonly handler: (request: unknown, reply: Reply) => unknown;
}

interface Reply {
  header(): Reply;
  send(body: string): string;
}

let script: Promise<string> | undefined;

/**
 * Returns Scalar's API reference as one script. The package `@scalar/api-reference` installs 290 MB of parts for web frameworks; its
 * plugin for Fastify contains the finished script and 14 MB. So this registers the plugin in place of Fastify, and asks its route.
 */
export function scalarScript(): Promise<string> {
  script ??= readScript();
  return script;
}

async function readScript(): Promise<string> {
  const { default: plugin } = await import("@scalar/fastify-api-reference");
  const routes: Route[] = [];
  const fastify = {
    route: (route: Route) => routes.push(route),
    hasPlugin: () => false,
    initialConfig: {},
    log: { warn: () => {} },
  };
  const register = plugin as unknown as (of: typeof fastify, options: object, done: () => void) => unknown;
  await register(fastify, { routePrefix: "/reference", configuration: { content: {} } }, () => {});
  const reply: Reply = { header: () => reply, send: body => body };
  const route = routes.find(({ url }) => url.endsWith(".js"));
  return String(route?.handler({}, reply));
}
