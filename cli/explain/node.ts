import { createRpc, RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { CommandError, loadConfig, option } from '../command-line/command.ts';
import { defaultRpcUrl } from '../start/local-node.ts';

const timeoutMs = 10_000;

export const nodeOption = option('URL', `JSON-RPC of a node. Default: SOLANA_RPC_URL, or ${defaultRpcUrl}`);

/** The nodes to ask. */
export function rpcOf(url: string | undefined): Rpc {
  if (url !== undefined && !URL.canParse(url)) throw new CommandError('--rpc takes a URL, for example http://127.0.0.1:8899');
  return createRpc(url === undefined ? (loadConfig().rpc?.httpUrls ?? [defaultRpcUrl]) : [url], { timeoutMs });
}

/** Turns an error of the nodes into a `CommandError`. */
export async function withNode<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await ask(AbortSignal.timeout(2 * timeoutMs));
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new CommandError(`No node answered: ${error.message} Give one with --rpc URL.`, { cause: error });
  }
}
