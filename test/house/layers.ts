/**
 * Folders that are divided into layers. Each layer is a folder. A layer may import only from the layers that are listed for it. These must be below it in the list, so
 * that there is no circle. Files directly in the folder connect the layers: they may import from all layers, and no layer may import them.
 */
export const dividedFolders: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'trading/src': {
    api: ['triggers', 'positions', 'place', 'follow', 'send', 'prepare', 'nodes', 'state', 'quote', 'signer', 'model'],
    triggers: ['positions', 'place', 'prepare', 'nodes', 'quote', 'model'],
    positions: ['place', 'nodes', 'model'],
    place: ['follow', 'send', 'prepare', 'nodes', 'state', 'quote', 'signer', 'model'],
    follow: ['send', 'nodes', 'signer'],
    send: ['prepare', 'nodes'],
    prepare: ['nodes', 'state', 'quote'],
    nodes: ['quote', 'signer'],
    state: ['quote'],
    quote: [],
    signer: ['model'],
    model: [],
  },
  'gateway/src/stream': {
    delivery: ['connections', 'dialects', 'replay', 'fanout', 'history'],
    commands: ['connections', 'dialects', 'session', 'replay', 'fanout', 'history'],
    connections: ['dialects', 'session', 'replay', 'fanout', 'history'],
    dialects: ['session', 'fanout', 'history'],
    session: ['replay', 'fanout'],
    replay: ['fanout', 'history'],
    fanout: ['history'],
    history: [],
  },
};

/** Why one file of a divided folder may not import another; null if it may. */
export function layerFault(from: string, to: string): string | null {
  for (const [folder, layers] of Object.entries(dividedFolders)) {
    if (!from.startsWith(`${folder}/`) || !to.startsWith(`${folder}/`)) continue;
    const [source, target] = [layerOf(folder, from), layerOf(folder, to)];
    if (source === null || source === target) continue;
    const allowed = layers[source];
    if (allowed === undefined) return `${folder} has no layer ${source}; add it to test/house/layers.ts`;
    if (target === null) return `a layer of ${folder} may not import the files that connect the layers`;
    if (!allowed.includes(target)) return `${source} may import from ${allowed.join(', ') || 'no other layer'} only`;
  }
  return null;
}

/** Layers that may import a layer above them, which could make a circle. */
export function upwardLayers(divided: typeof dividedFolders): readonly string[] {
  return Object.entries(divided).flatMap(([folder, layers]) => {
    const order = Object.keys(layers);
    return order.flatMap((layer, at) =>
      layers[layer]!.filter((target) => order.indexOf(target) <= at).map(
        (target) => `${folder}/${layer} names ${target}, which is not below it`,
      ),
    );
  });
}

function layerOf(folder: string, path: string): string | null {
  const rest = path.slice(folder.length + 1);
  const end = rest.indexOf('/');
  return end === -1 ? null : rest.slice(0, end);
}
