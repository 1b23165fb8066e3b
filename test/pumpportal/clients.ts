/** A published package, and a program that uses it as its users do. */
export interface PublicClient {
  /** `name@version` for npm, `name==version` for PyPI. */
  readonly packages: readonly [string, ...string[]];
  readonly registry: 'npm' | 'PyPI';
  /** Folder of the package in which `https://pumpportal.fun` is replaced. Absent: the program names the host. */
  readonly hostIn?: string;
  /** File in `programs/`. */
  readonly program: string;
  readonly does: string;
}

/** The first package knows PumpPortal itself. The others are those on which PumpPortal's documentation and most public bots are built. */
export const publicClients: readonly PublicClient[] = [
  {
    packages: ['pump-portal-mcp-server==3.0.2'],
    registry: 'PyPI',
    hostIn: 'pump_portal_mcp_server',
    program: 'portal_client.py',
    does: 'Lightning trades by its `PortalClient`: a form, the key in the query, no wallet',
  },
  { packages: ['ws@8.18.3'], registry: 'npm', program: 'ws.mjs', does: 'stream: 4 subscriptions, then the trades of each new token' },
  { packages: ['websocket@1.0.35'], registry: 'npm', program: 'websocket.mjs', does: 'stream, with the W3C interface' },
  {
    packages: ['reconnecting-websocket@4.4.0', 'ws@8.18.3'],
    registry: 'npm',
    program: 'reconnecting-websocket.mjs',
    does: 'stream, with reconnects',
  },
  {
    packages: ['@solana/web3.js@1.98.4', 'axios@1.12.2'],
    registry: 'npm',
    program: 'web3.mjs',
    does: 'local transactions: JSON, `VersionedTransaction.deserialize`; Lightning trades by axios',
  },
  { packages: ['websockets==15.0.1'], registry: 'PyPI', program: 'websockets_client.py', does: 'stream, asyncio' },
  { packages: ['websocket-client==1.8.0'], registry: 'PyPI', program: 'websocket_client.py', does: 'stream, blocking' },
  { packages: ['aiohttp==3.12.15'], registry: 'PyPI', program: 'aiohttp_client.py', does: 'stream, with heartbeats' },
  {
    packages: ['requests==2.32.5', 'solders==0.26.0'],
    registry: 'PyPI',
    program: 'requests_solders.py',
    does: 'local transactions: a form, `VersionedTransaction.from_bytes`; Lightning trades',
  },
];
