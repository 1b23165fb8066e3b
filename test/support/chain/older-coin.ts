import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { wallet } from '../../simnet/runtime/wallets.ts';
import type { SimChain } from '../../simnet/sim-chain.ts';
import { pumpSdk } from '../../simnet/support/pump-sdk.ts';
import { land } from '../../simnet/support/test-chain.ts';
import { fromWeb3, key } from '../../simnet/support/web3.ts';
import { maker, setUp, type QuotedCoin } from './quoted-trades.ts';

let coins = 0;

/** A coin of SPL Token, created by the older instruction, and everything that the trader needs to trade it. */
export async function launchOlderCoin(chain: SimChain): Promise<QuotedCoin> {
  const mint = wallet('older', `mint ${coins++}`);
  const at = key(maker.publicKey);
  const text = { name: 'Simulated old', symbol: 'SIMOLD', uri: 'https://simnet.invalid/old' };
  const create = await pumpSdk.PUMP_SDK.createInstruction({ mint: key(mint.publicKey), ...text, creator: at, user: at });
  const record = land(chain, [fromWeb3(create)], [maker, mint]);
  if (record.err !== null) throw new Error(record.logs.join('\n'));
  return setUp(chain, { mint: mint.publicKey, tokenProgram, quoteMint: wrappedSolMint, mayhem: false });
}
