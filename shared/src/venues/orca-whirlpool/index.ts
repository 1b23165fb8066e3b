export { decodeWhirlpool, usdcPerSol, whirlpoolPrice } from './decode.ts';
