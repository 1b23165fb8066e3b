import { addressOf, type Address } from './redis-addresses.ts';
import { ask, askNodes, deploymentOf, type Deployment } from './redis-connect.ts';

/** What one server reports about itself. */
export interface InspectedServer {
  /** host:port */
  readonly name: string;
  /** Fields of INFO. */
  readonly info: ReadonlyMap<string, string>;
  /** Its settings; null if the user may not read them. */
  readonly settings: ReadonlyMap<string, string> | null;
}

export interface InspectedRedis {
  readonly kind: Deployment['kind'];
  /** All nodes of a cluster, or the servers in the settings. */
  readonly servers: readonly InspectedServer[];
  /** host:port of the servers that did not answer. */
  readonly unreachable: readonly string[];
}

/** Asks every server for its state and settings. Rejects with `UNAVAILABLE` if none answers. */
export async function inspectRedis(urls: readonly string[], settings: readonly string[]): Promise<InspectedRedis> {
  const { kind } = await deploymentOf(urls);
  const [url] = urls as readonly [string];
  const nodes = kind === 'cluster' ? await askNodes(urls) : urls.map(addressOf);
  const answers = await Promise.all(
    nodes.map((node, at) => inspect(kind === 'cluster' ? url : (urls[at] as string), node, settings).catch(() => null)),
  );
  return {
    kind,
    servers: answers.filter((answer) => answer !== null),
    unreachable: nodes.filter((_, at) => answers[at] === null).map(nameOf),
  };
}

const nameOf = ({ host, port }: Address): string => `${host}:${port}`;

async function inspect(url: string, node: Address, settings: readonly string[]): Promise<InspectedServer> {
  return ask(url, node, async (client) => {
    const fields = (await client.info()).matchAll(/^([^:\r\n]*):(.*)$/gm);
    // One name for each CONFIG GET, because Redis 6 accepts only one. A user that may not read settings gets an error.
    const read = Promise.all(settings.map(async (name) => [name, ((await client.config('GET', name)) as string[])[1]] as const));
    const found = await read.catch(() => null);
    return {
      name: nameOf(node),
      info: new Map([...fields].map(([, field = '', value = '']) => [field, value] as const)),
      settings: found === null ? null : new Map(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))),
    };
  });
}
