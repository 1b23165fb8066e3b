/** One buy on a bonding curve, as each endpoint returns it, with consistent figures. */
import { wrappedSolMint } from '../../solana/well-known.ts';

export const exampleOrderId = 'ord_01JD2Q6M7N8P9RSTVWXYZ01234';
export const exampleWallet = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
export const exampleMint = '3ENQHPR7pckco8BNzLpsEN3JSBcVvequGCxhr9uY2JvR';
const signature = '2qNEbhfvWf1FarfpVJqz8fU4SBbvQZpDcXpDb8YXxLNzmLE4mRzgnExnL1brT284znk54uZRC9DXKQ3xGxjEEcts';
const blockhash = 'EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N';
const lastValidBlockHeight = 439000517;
const simulation = { unitsConsumed: 112_611, slot: 460_000_372 };

const terms = {
  side: 'buy',
  mint: exampleMint,
  pool: 'pump',
  poolAddress: '9yFZ8VnCNDxavwtgsy3L96foWEpFBjsmKBfHniTszJ2x',
  quoteMint: wrappedSolMint,
  publicKey: exampleWallet,
} as const;

const quoteExample = {
  inAmount: '100000000',
  inDecimals: 9,
  inUiAmount: 0.1,
  outAmount: '3471378145193',
  outDecimals: 6,
  outUiAmount: 3471378.145193,
  minOut: '3297809237934',
  minOutUiAmount: 3297809.237934,
  maxIn: '100000000',
  maxInUiAmount: 0.1,
  price: 2.880700281485475e-8,
  priceImpactPct: 0.33,
  fees: [
    { kind: 'protocol', amount: '938272', bps: 95, mint: 'So11111111111111111111111111111111111111112' },
    { kind: 'creator', amount: '296297', bps: 30, mint: 'So11111111111111111111111111111111111111112' },
  ],
  feeTotal: '1234569',
  feeTotalUi: 0.001234569,
};

const timing = { totalMs: 2.764, quoteMs: 0.211, buildMs: 0.458, signMs: 0.402, storeMs: 0.517, simulateMs: 0.931, sendMs: 0.212 };

export const tradeExample = {
  orderId: exampleOrderId,
  status: 'submitted',
  signature,
  ...terms,
  quote: quoteExample,
  lastValidBlockHeight,
  simulation,
  error: null,
  timing,
};

export const transactionExample = {
  transaction: 'AQAAAAAAAAAAAAAAAAAAAA==',
  ...terms,
  quote: quoteExample,
  blockhash,
  lastValidBlockHeight,
  expiresInSeconds: 29,
  computeUnitLimit: 152_000,
  priorityFee: '100000',
  priorityFeeUi: 0.0001,
  simulation,
  timing: { totalMs: 1.602, quoteMs: 0.211, buildMs: 0.458, simulateMs: 0.931 },
};

export const sendExample = {
  orderId: exampleOrderId,
  status: 'submitted',
  signature,
  publicKey: exampleWallet,
  lastValidBlockHeight,
  expiresInSeconds: 27,
  simulation,
  error: null,
  timing: { totalMs: 1.66, simulateMs: 0.931, storeMs: 0.517, sendMs: 0.212 },
};

const orderFieldsExample = {
  orderId: exampleOrderId,
  version: 4,
  kind: 'lightning',
  status: 'confirmed',
  ...terms,
  signature,
  lastValidBlockHeight,
  fill: {
    pool: 'pump',
    baseAmount: '3471378145193',
    baseDecimals: 6,
    baseUiAmount: 3471378.145193,
    quoteAmount: '98765431',
    quoteDecimals: 9,
    quoteUiAmount: 0.098765431,
    traderQuoteAmount: '100000000',
    traderQuoteUiAmount: 0.1,
    venueFees: '1234569',
    venueFeesUi: 0.001234569,
    price: 2.880700281485475e-8,
    networkFee: '105000',
    otherLamports: '2039280',
    slot: 460_000_377,
    blockTime: 1_795_285_181,
  },
  error: null,
  createdAtMs: 1_795_285_178_597,
  updatedAtMs: 1_795_285_181_534,
};

export const orderExample = {
  ...orderFieldsExample,
  genesisHash: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  quote: quoteExample,
  timing,
};

export const orderEventExample = {
  type: 'order',
  id: `${exampleOrderId}:${orderFieldsExample.version}`,
  ...orderFieldsExample,
  slot: orderFieldsExample.fill.slot,
  blockTime: orderFieldsExample.fill.blockTime,
  commitment: 'confirmed',
  ts: { received: 1_795_285_181_534_000, published: 1_795_285_181_534_612 },
};
