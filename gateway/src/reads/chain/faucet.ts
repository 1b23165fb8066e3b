import type { Logger } from '@sluice/shared/log/log.ts';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import { lamportsPerSol } from '@sluice/shared/solana/well-known.ts';
import { chainRpc } from './chain-rpc.ts';

/** Gives simulated SOL. */
export interface Faucet {
  /** Whether the chain is simulated. Any other gives nothing. */
  readonly isOpen: () => boolean;
  /** Requests 10 SOL for a wallet. Returns whether the chain accepted the request. */
  give(publicKey: string): Promise<boolean>;
}

const lamports = 10n * lamportsPerSol;

export function faucetOf(
  urls: readonly string[] | null,
  { isSimulated, log }: { readonly isSimulated: () => boolean; readonly log: Logger },
): Faucet {
  const rpc = chainRpc(urls);
  return {
    isOpen: isSimulated,
    give: async (publicKey) => {
      try {
        await rpc.call('requestAirdrop', [publicKey, Number(lamports)]);
        return true;
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        log.warn({ reason: error.message }, 'faucet_failed');
        return false;
      }
    },
  };
}
