import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { lamportsPerSol, usdcDecimals } from '@sluice/shared/solana/well-known.ts';
import { chainRpc } from './chain-rpc.ts';

/** Gives simulated SOL and USDC. */
export interface Faucet {
  /** Whether the chain is simulated. Any other gives nothing. */
  readonly isOpen: () => boolean;
  /** Requests 10 SOL and 1,000 USDC for a wallet. Returns whether the chain accepted both. */
  give(publicKey: string): Promise<boolean>;
}

const lamports = 10n * lamportsPerSol;
const usdc = 1_000n * 10n ** BigInt(usdcDecimals);

export function faucetOf(
  urls: readonly string[] | null,
  { isSimulated, log }: { readonly isSimulated: () => boolean; readonly log: Logger },
): Faucet {
  const rpc = chainRpc(urls);
  return {
    isOpen: isSimulated,
    give: async (publicKey) => {
      try {
        await Promise.all([
          rpc.call('requestAirdrop', [publicKey, Number(lamports)]),
          rpc.call('requestAirdrop', [publicKey, Number(usdc), { coin: 'USDC' }]),
        ]);
        return true;
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        log.warn({ reason: error.message }, 'faucet_failed');
        return false;
      }
    },
  };
}
