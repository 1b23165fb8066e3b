/**
 * Folders that are divided into rooms. A room may import only from the rooms that are listed for it. These must be below it in the list, so
 * that there is no circle. Files directly in the folder connect the rooms: they may import from all rooms, and no room may import them.
 */
export const dividedFolders: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'gateway/src/orders': {
    role: ['api'],
    api: ['place', 'prepare', 'ledger', 'model'],
    place: ['follow', 'send', 'prepare', 'simulate', 'state', 'ledger', 'nodes', 'model'],
    follow: ['evidence', 'send', 'nodes', 'model'],
    evidence: ['simulate', 'nodes', 'model'],
    send: ['prepare', 'nodes'],
    prepare: ['simulate', 'state'],
    simulate: ['nodes'],
    state: [],
    ledger: ['model'],
    nodes: [],
    model: [],
  },
  'gateway/src/stream': {
    delivery: ['connections', 'dialects', 'replay', 'fanout', 'history'],
    commands: ['connections', 'dialects', 'session', 'replay', 'fanout', 'history'],
    connections: ['dialects', 'session', 'replay', 'fanout'],
    dialects: ['session', 'fanout', 'history'],
    session: ['replay', 'fanout'],
    replay: ['fanout', 'history'],
    fanout: ['history'],
    history: [],
  },
};

/** Why one file of a divided folder may not import another; null if it may. */
export function roomFault(from: string, to: string): string | null {
  for (const [folder, rooms] of Object.entries(dividedFolders)) {
    if (!from.startsWith(`${folder}/`) || !to.startsWith(`${folder}/`)) continue;
    const [source, target] = [roomOf(folder, from), roomOf(folder, to)];
    if (source === null || source === target) continue;
    const allowed = rooms[source];
    if (allowed === undefined) return `${folder} has no room ${source}; add it to test/house/rooms.ts`;
    if (target === null) return `a room of ${folder} may not import the files that connect the rooms`;
    if (!allowed.includes(target)) return `${source} may import from ${allowed.join(', ') || 'no other room'} only`;
  }
  return null;
}

/** Rooms that may import a room above them, which could make a circle. */
export function upwardRooms(divided: typeof dividedFolders): readonly string[] {
  return Object.entries(divided).flatMap(([folder, rooms]) => {
    const order = Object.keys(rooms);
    return order.flatMap((room, at) =>
      rooms[room]!.filter((target) => order.indexOf(target) <= at).map(
        (target) => `${folder}/${room} names ${target}, which is not below it`,
      ),
    );
  });
}

function roomOf(folder: string, path: string): string | null {
  const rest = path.slice(folder.length + 1);
  const end = rest.indexOf('/');
  return end === -1 ? null : rest.slice(0, end);
}
