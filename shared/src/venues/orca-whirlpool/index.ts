export { decodeWhirlpool, usdcPerSol, whirlpoolPrice, type Whirlpool } from './decode.ts';
