import { Connection } from '@solana/web3.js';

export interface Web3 {
  readonly connection: Connection;
  /** Without it, the library connects to the node again and again until the process ends, and other suites share the process. */
  readonly close: () => void;
}

export function connectWeb3({ rpcUrl, wsUrl }: { readonly rpcUrl: string; readonly wsUrl: string }): Web3 {
  const connection = new Connection(rpcUrl, { commitment: 'confirmed', wsEndpoint: wsUrl });
  const { _rpcWebSocket: socket } = connection as unknown as { readonly _rpcWebSocket: { reconnect: boolean; close(): void } };
  const close = (): void => {
    socket.reconnect = false;
    socket.close();
  };
  return { connection, close };
}
